// The token comes in the fragment, which is not sent; it is exchanged for a cookie, and taken out of the address.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  await fetch("/api/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  history.replaceState(null, "", location.pathname + location.search);
}
const answer = await fetch("/api/v1/settings");
const said = await answer.json();
document.getElementById("said").textContent = answer.ok
  ? said.files.map((file) => `${file.name}: ${file.documents} documents`).join(", ")
  : `${said.error} (${said.mend})`;

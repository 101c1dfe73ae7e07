// The page: the token becomes a cookie, then the address says what is shown.

import { Fault, get, session } from "./api.js";
import { fill, h, say } from "./dom.js";
import { trouble } from "./fault.js";
import { listen } from "./keys.js";
import { changed, follow, go, here, scrolled, to } from "./place.js";
import { words } from "./words.js";

const VIEWS = {
	"/search": () => import("./search.js"),
	"/ask": () => import("./ask.js"),
	"/document": () => import("./document.js"),
	"/entity": () => import("./entity.js"),
	"/outline": () => import("./outline.js"),
	"/sources": () => import("./sources.js"),
	"/state": () => import("./state.js"),
};
const main = document.getElementById("main");
const top = document.getElementById("top");
let serving = null;
let shown = null;

async function unlock() {
	const token = new URLSearchParams(location.hash.slice(1)).get("token");
	if (!token) return;
	// Out of the address before anything else happens: it is neither kept in the history nor shown.
	history.replaceState(history.state, "", location.pathname + location.search);
	await session(token);
}

// The file that a view is of: the one that is named, else the first.
function fileOf(place) {
	return serving.files.find((one) => one.name === place.file) || serving.files[0];
}

function showTop(place) {
	const file = place.file || "";
	const links = Object.entries(words.pagesOf).map(([path, name]) => {
		const current = path === place.path ? "page" : null;
		return h("li", {}, h("a", { href: to(path, { file }), "aria-current": current }, name));
	});
	fill(
		top,
		h("a", { class: "brand", href: to("/search", { file }) }, "Monograph"),
		h("nav", { "aria-label": words.pages }, h("ul", {}, links)),
		serving.files.length > 1
			? fileChoice(place)
			: h("span", { class: "which", title: serving.files[0]?.path }, serving.files[0]?.name),
	);
}

function fileChoice(place) {
	const all = place.path === "/search" ? [h("option", { value: "" }, words.allFiles)] : [];
	const chosen = place.path === "/search" ? place.file || "" : fileOf(place).name;
	const options = serving.files.map(({ name, path }) => h("option", { value: name, title: path }, name));
	const choice = h("select", { id: "file", "aria-label": words.file }, all, options);
	choice.value = chosen;
	// What is open belongs to the file it was opened in.
	const left = {
		id: undefined,
		mark: undefined,
		name: undefined,
		node: undefined,
		at: undefined,
		in: undefined,
		source: undefined,
	};
	choice.addEventListener("change", () => go(changed({ ...left, file: choice.value || undefined })));
	return choice;
}

// Shows what the address says. A view that is shown already is told of the new place, and keeps what it can.
async function arrive({ back }) {
	const place = here();
	const was = scrolled();
	if (place.path === "/") return go("/search" + location.search, { replace: true });
	const focused = document.activeElement?.id;
	showTop(place);
	if (focused && top.contains(document.getElementById(focused))) document.getElementById(focused).focus();
	if (shown && shown.path === place.path && shown.update?.(place)) return undefined;
	shown?.leave?.();
	const mine = { path: place.path };
	shown = mine;
	main.setAttribute("aria-busy", "true");
	try {
		const view = await VIEWS[place.path]();
		if (shown !== mine) return undefined;
		const box = h("div", { class: `view ${place.path.slice(1)}` });
		fill(main, box);
		Object.assign(mine, await view.show(box, { place, serving, file: fileOf(place) }));
		if (shown !== mine) return mine.leave?.();
		settle(mine, back ? was : 0);
	} catch (error) {
		if (shown === mine)
			fill(
				main,
				trouble(error, () => arrive({ back })),
			);
	}
	if (shown === mine) main.removeAttribute("aria-busy");
	return undefined;
}

function settle(view, height) {
	const name = main.querySelector("h1")?.textContent;
	document.title = name ? `${name} · Monograph` : "Monograph";
	if (view.own) return; // it stands where the view has put it
	window.scrollTo(0, height);
	const box = main.querySelector("[data-first]");
	if (box && !height) box.focus({ preventScroll: true });
	else main.querySelector("h1")?.focus({ preventScroll: true });
}

async function begin() {
	document.getElementById("skip").textContent = words.skip;
	try {
		await unlock();
		serving = await get("/settings");
	} catch (error) {
		fill(
			main,
			trouble(error, () => location.reload()),
		);
		main.removeAttribute("aria-busy");
		return;
	}
	listen(serving);
	follow(arrive);
}

window.addEventListener("unhandledrejection", (event) => {
	if (event.reason?.name === "AbortError") event.preventDefault();
	else if (event.reason instanceof Fault) say(event.reason.message);
});
await begin();

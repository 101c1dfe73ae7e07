// The API: requests, errors as it words them, and streams of events.

export const BASE = "/api/v1";

export class Fault extends Error {
	constructor(said, status) {
		super(said.error || `status ${status}`);
		this.hint = said.hint || "";
		this.kind = said.kind || "";
		this.status = status;
	}
}

// An address with the parameters that are there; a list is repeated.
export function withParameters(path, parameters = {}) {
	const pairs = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
	const given = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
	const query = new URLSearchParams(given).toString();
	return query ? `${path}?${query}` : path;
}

export function address(path, parameters) {
	return withParameters(BASE + path, parameters);
}

async function sent(where, options) {
	let response = null;
	try {
		response = await fetch(where, options);
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new Fault({ kind: "Unreachable" }, 0);
	}
	if (response.ok) return response;
	throw new Fault(await response.json().catch(() => ({})), response.status);
}

export async function get(path, parameters, signal) {
	return (await sent(address(path, parameters), { signal })).json();
}

export async function post(path, body) {
	const headers = { "Content-Type": "application/json" };
	const response = await sent(BASE + path, { method: "POST", headers, body: JSON.stringify(body) });
	return response.status === 204 ? null : response.json();
}

export async function remove(path, parameters) {
	return (await sent(address(path, parameters), { method: "DELETE" })).json();
}

export async function upload(file, parameters) {
	const headers = { "Content-Type": "application/octet-stream" };
	return (await sent(address("/upload", parameters), { method: "POST", headers, body: file })).json();
}

export async function session(token) {
	const headers = { Authorization: `Bearer ${token}` };
	await sent(`${BASE}/session`, { method: "POST", headers });
}

// Events of a stream, as {event, data}, until it ends. A POST has a body, a GET none.
export async function* events(path, { parameters, body, signal } = {}) {
	const headers = { Accept: "text/event-stream" };
	if (body) headers["Content-Type"] = "application/json";
	const options = body ? { method: "POST", body: JSON.stringify(body), headers, signal } : { headers, signal };
	const response = await sent(address(path, parameters), options);
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let waiting = "";
	for (;;) {
		const { value, done } = await reader.read();
		waiting += value || "";
		const whole = waiting.split(/\r?\n\r?\n/);
		waiting = whole.pop();
		for (const one of whole) {
			const event = eventOf(one);
			if (event) yield event;
		}
		if (done) return;
	}
}

function eventOf(text) {
	let event = "message";
	const data = [];
	for (const line of text.split(/\r?\n/)) {
		if (line.startsWith("event:")) event = line.slice(6).trim();
		else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
	}
	return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}

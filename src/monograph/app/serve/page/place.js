// Where one is: every view has an address, which back, forward, reload and bookmarks keep.

import { withParameters } from "./api.js";

const KEPT = "scroll:";
let arrive = () => {};

// What the address says: its path, and its parameters, of which those of MANY are lists.
const MANY = new Set(["mark", "where"]);

export function here() {
	const query = new URLSearchParams(location.search);
	const place = { path: location.pathname };
	for (const name of query.keys()) place[name] = MANY.has(name) ? query.getAll(name) : query.get(name);
	return place;
}

export function to(path, parameters) {
	return withParameters(path, parameters);
}

// This place with some parameters changed; those that are undefined are taken out.
export function changed(changes) {
	const { path, ...parameters } = here();
	return to(path, { ...parameters, ...changes });
}

export function go(where, { replace = false } = {}) {
	keepScroll();
	const state = { key: replace && history.state?.key ? history.state.key : crypto.randomUUID() };
	history[replace ? "replaceState" : "pushState"](state, "", where);
	arrive({ back: false });
}

function keepScroll() {
	if (history.state?.key) sessionStorage.setItem(KEPT + history.state.key, String(window.scrollY));
}

export function scrolled() {
	return Number(sessionStorage.getItem(KEPT + history.state?.key) || 0);
}

// Calls back when one arrives somewhere, by a link, by the browser's buttons or at first.
export function follow(callback) {
	let shown = "";
	arrive = (how) => {
		shown = location.pathname + location.search;
		callback(how);
	};
	history.scrollRestoration = "manual";
	if (!history.state?.key) history.replaceState({ key: crypto.randomUUID() }, "", location.href);
	window.addEventListener("popstate", () => {
		if (location.pathname + location.search !== shown) arrive({ back: true }); // else only the fragment has changed
	});
	window.addEventListener("pagehide", keepScroll);
	let waiting = 0;
	window.addEventListener("scroll", () => {
		clearTimeout(waiting);
		waiting = setTimeout(keepScroll, 150);
	});
	document.addEventListener("click", (event) => {
		const link = event.target.closest("a[href^='/']");
		const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
		if (!link || !plain || link.hasAttribute("download") || link.target || event.defaultPrevented) return;
		event.preventDefault();
		go(link.getAttribute("href"));
	});
	arrive({ back: true });
}

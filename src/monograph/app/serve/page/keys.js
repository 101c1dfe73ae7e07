// Keys that work on every page, and the list of them.

import { button, fill, h } from "./dom.js";
import { go, here, to } from "./place.js";
import { words } from "./words.js";

const PLACES = { s: "/search", a: "/ask", d: "/document", n: "/entity", o: "/outline", f: "/sources", t: "/state" };

function typing(element) {
	return element?.matches?.("input:not([type=checkbox]), textarea, select") || element?.isContentEditable;
}

function help() {
	const dialog = document.getElementById("help");
	const rows = words.keys.list.map(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)]);
	dialog.setAttribute("aria-label", words.keys.title);
	fill(
		dialog,
		h("h2", {}, words.keys.title),
		h("dl", {}, rows),
		button(words.keys.close, () => dialog.close(), { class: "plain" }),
	);
	dialog.showModal();
}

// The next or the last of what can be walked through with j and k.
function walk(step) {
	const stops = [...document.querySelectorAll("[data-stop]")].filter((one) => one.offsetParent);
	const at = stops.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
	const next = stops[at < 0 ? (step > 0 ? 0 : stops.length - 1) : at + step];
	if (!next) return;
	next.focus({ preventScroll: true });
	next.scrollIntoView({ block: "nearest" });
}

export function listen() {
	let led = 0; // when g was pressed
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
		if (event.key === "Escape") {
			document.querySelector("[data-close]")?.click();
			return;
		}
		if (typing(document.activeElement)) return;
		const second = event.timeStamp - led < 1200 && PLACES[event.key];
		led = 0;
		if (second) go(to(second, { file: here().file }));
		else if (event.key === "g") led = event.timeStamp;
		else if (event.key === "j") walk(1);
		else if (event.key === "k") walk(-1);
		else if (event.key === "?") help();
		else if (event.key === "/") {
			const box = document.querySelector("[data-first]");
			if (box) {
				box.focus();
				box.select?.();
			} else go(to("/search", { file: here().file }));
		} else return;
		event.preventDefault();
	});
}

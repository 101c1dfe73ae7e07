// The source beside a list: the document that a hit or a citation is from, opened at what is marked.

import { fill, h, heading, link, own, say } from "./dom.js";
import { trouble } from "./fault.js";
import { changed, to } from "./place.js";
import { readerOf } from "./reader.js";
import { words } from "./words.js";

const WIDE = matchMedia("(min-width: 900px)");

// Whether there is room for two things beside each other.
export const isWide = () => WIDE.matches;

// What of an address says which source is open.
export const CLOSED = { in: undefined, source: undefined, mark: undefined };

export function openedAt(place) {
	return place.source ? { file: place.in, id: place.source, mark: place.mark || [] } : null;
}

export function besideOf(pick = "") {
	const head = h("header", { class: "beside-head" });
	const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": words.source.title });
	const element = h("aside", { class: "beside", "aria-label": words.source.title }, head, scroller);
	let reader = null;
	let key = "";
	let opener = null; // what had the focus before it was opened
	leave();

	// asked: {file, id, mark, q}, or null; `chosen` says that a person opened it, so that it can be closed.
	async function show(asked, { chosen = true, focus = false } = {}) {
		const wanted = JSON.stringify([asked, chosen]);
		if (wanted === key) return;
		key = wanted;
		const focused = document.activeElement;
		if (chosen && asked) {
			if (!element.contains(focused)) opener = focused;
		} else if (opener && (focused === document.body || element.contains(focused)))
			opener.focus({ preventScroll: true });
		reader?.leave();
		reader = null;
		if (!asked) return leave();
		const box = getComputedStyle(scroller).overflowY === "visible" ? null : scroller;
		reader = readerOf(asked, box);
		if (chosen && !head.querySelector("[data-close]")) head.append(closing()); // it can be closed before it is there
		try {
			const found = await reader.load();
			if (key !== wanted) return;
			showHead(found, asked, chosen);
			fill(scroller, reader.element);
			reader.reveal();
			if (focus) head.querySelector("h2").focus({ preventScroll: true });
			if (asked.mark.length) say(`${found.title || found.uri}: ${words.source.marked(asked.mark.length)}`);
		} catch (error) {
			if (key === wanted) fill(scroller, trouble(error));
		}
	}

	const closing = () => link(changed(CLOSED), { "data-close": "" }, isWide() ? words.source.close : words.source.back);

	function showHead(found, { file, id, mark }, chosen) {
		const whole = to("/document", { file, id, mark });
		fill(
			head,
			heading(2, found.title || found.uri || id),
			h(
				"p",
				{ class: "tools" },
				link(whole, {}, words.source.whole),
				/\.pdf$/i.test(found.uri)
					? link(to("/document", { file, id, mark, view: "page" }), {}, words.source.page)
					: null,
				chosen ? closing() : null,
			),
			found.uri && found.uri !== found.title ? h("p", { class: "note" }, own(found.uri)) : null,
		);
	}

	function leave() {
		key = "";
		fill(head);
		fill(scroller, pick ? h("p", { class: "note pick" }, pick) : null);
	}

	return { element, show, leave: () => reader?.leave() };
}

// A link that opens a source beside what is shown now.
export function sourceLink(file, { id, mark }, attributes, ...children) {
	const source = { in: file, source: id, mark };
	return link(changed(source), { ...attributes, "data-source": JSON.stringify(source) }, children);
}

// Links keep their own source, and take over whatever else the address says now. What is open is the current one.
export function relink(list, open) {
	const now = open && JSON.stringify({ in: open.file, source: open.id, mark: open.mark });
	for (const one of list.querySelectorAll("a[data-source]")) {
		one.setAttribute("href", changed(JSON.parse(one.dataset.source)));
		if (one.dataset.source === now) one.setAttribute("aria-current", "true");
		else one.removeAttribute("aria-current");
	}
}

// A list that one types into, to find something in it: of documents, or of names.

import { button, fill, h, heading, link } from "./dom.js";
import { changed, go, to } from "./place.js";
import { words } from "./words.js";

const PAUSE = 200; // milliseconds after a key

// A row that leads somewhere.
export function row(where, name, ...facts) {
	return h(
		"li",
		{},
		link(where, { "data-stop": "", class: "row" }, h("span", { class: "name", dir: "auto" }, name), facts),
	);
}

export function nameRow({ name, kind, chunks }, file) {
	return row(
		to("/entity", { file, name }),
		name,
		h("span", { class: "note" }, `${kind} · ${words.document.inChunks(chunks)}`),
	);
}

// said: {list, filter, filterHint, none, more}; load(like, start) gives {rows, count, said}; `open` names the parameter
// that leads away from the list.
export async function finder(box, place, open, said, load) {
	const list = h("ul", { class: "rows" });
	const number = h("p", { class: "note", role: "status" });
	const more = button(said.more, () => show(list.children.length), { hidden: true });
	const filter = h("input", {
		type: "search",
		"data-first": "",
		"aria-label": said.filter,
		placeholder: said.filterHint,
		dir: "auto",
		autocomplete: "off",
	});
	let waiting = 0;
	filter.value = place.like || "";
	filter.addEventListener("input", () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => go(changed({ like: filter.value }), { replace: true }), PAUSE);
	});
	fill(box, heading(1, said.list), h("p", {}, filter), number, list, more);

	async function show(start) {
		const like = filter.value.trim();
		const found = await load(like, start);
		if (like !== filter.value.trim()) return;
		if (start) list.append(...found.rows);
		else fill(list, found.rows);
		number.textContent = list.children.length ? found.said(list.children.length) : said.none;
		more.hidden = list.children.length >= found.count;
	}

	await show(0);
	return {
		update(where) {
			if (where[open] || where.file !== place.file) return false;
			if (filter !== document.activeElement) filter.value = where.like || "";
			show(0);
			return true;
		},
	};
}

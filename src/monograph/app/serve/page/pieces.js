// Texts as the server cuts them: what is marked, what is a word of the question, and all the rest.

import { h } from "./dom.js";

const inner = (piece) => (piece.word ? h("b", { class: "word" }, piece.text) : piece.text);

// Pieces as nodes. Those of a marked span that follow each other stand in one mark, which knows its offsets.
export function shownPieces(pieces) {
	const made = [];
	let last = null;
	for (const piece of pieces) {
		if (!piece.marks.length) {
			last = null;
			made.push(inner(piece));
		} else if (last && last.numbers === String(piece.marks)) {
			last.mark.append(inner(piece));
			last.mark.dataset.end = piece.end;
		} else {
			const mark = h("mark", { class: "cited", "data-start": piece.start, "data-end": piece.end }, inner(piece));
			last = { mark, numbers: String(piece.marks) };
			made.push(mark);
		}
	}
	return made;
}

const LONG = 60; // characters

// Whether a file has wrapped a paragraph: its line ends then are no ends of lines. The text itself stays as it is.
function isWrapped(pieces) {
	const lines = pieces
		.map((piece) => piece.text)
		.join("")
		.split("\n");
	return lines.length > 1 && lines.slice(0, -1).every((line) => line.trimEnd().length >= LONG);
}

export function shownBlock(block) {
	const attributes = { dir: "auto", "data-at": block.start };
	if (block.kind === "heading") {
		// The page's own headings are h1 and h2.
		return h(`h${Math.min(6, block.level + 2)}`, { ...attributes, class: "in-text" }, shownPieces(block.pieces));
	}
	if (block.kind === "table") return shownTable(block);
	return h("p", { ...attributes, class: isWrapped(block.pieces) ? "wrapped" : null }, shownPieces(block.pieces));
}

function shownTable(block) {
	const [header, ...rows] = block.rows;
	const cells = (row, tag) =>
		row.map((cell) => h(tag, { dir: "auto", scope: tag === "th" ? "col" : null }, shownPieces(cell)));
	const table = h(
		"table",
		{},
		h("thead", {}, h("tr", {}, cells(header || [], "th"))),
		h(
			"tbody",
			{},
			rows.map((row) => h("tr", {}, cells(row, "td"))),
		),
	);
	return h(
		"div",
		{ class: "wide", "data-at": block.start, tabindex: "0", role: "group", "aria-label": "Table" },
		table,
	);
}

export const spanOf = (mark) => mark.split("-").map(Number);
export const markOf = (start, end) => `${start}-${end}`;

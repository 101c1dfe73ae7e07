// A hit: where it stands, what it says, and why it was found.

import { sourceLink } from "./beside.js";
import { button, h, link, own } from "./dom.js";
import { pathPicture } from "./path.js";
import { markOf } from "./pieces.js";
import { to } from "./place.js";
import { many, score, words } from "./words.js";

const EXCERPT = 420; // characters of a hit in the list
const LEAD = 110; // of them before the first word of the question

// What a hit opens: the document, and the spans of it that are marked; null for a summary that no document bears out.
export function sourceOf({ hit }) {
	if (!hit.summary) return { id: hit.chunk.document_id, mark: [markOf(hit.chunk.start, hit.chunk.end)] };
	const [first] = hit.summary.sources;
	if (!first) return { id: hit.chunk.document_id, mark: [markOf(hit.chunk.start, hit.chunk.end)] };
	const same = hit.summary.sources.filter((one) => one.document_id === first.document_id);
	return { id: first.document_id, mark: same.map((one) => markOf(one.document_start, one.document_end)) };
}

// A stretch of the pieces around the first word of the question.
function excerpt(pieces) {
	const signs = pieces.flatMap(({ text, word }) => Array.from(text.replace(/^#{1,6} /gm, ""), (sign) => [sign, word]));
	const first = Math.max(
		0,
		signs.findIndex(([, word]) => word),
	);
	let from = Math.max(0, first - LEAD);
	if (from + EXCERPT > signs.length) from = Math.max(0, signs.length - EXCERPT);
	while (from > 0 && from < first && /\S/.test(signs[from - 1][0])) from += 1;
	const shown = signs.slice(from, from + EXCERPT);
	const runs = [];
	for (const [sign, word] of shown) {
		if (runs.length && runs.at(-1).word === word) runs.at(-1).text += sign;
		else runs.push({ text: sign, word });
	}
	const made = runs.map(({ text, word }) => (word ? h("b", { class: "word" }, text) : text));
	return [from > 0 ? "… " : null, ...made, from + EXCERPT < signs.length ? " …" : null];
}

function whyTable(hit) {
	const { why, whyTable: title, retriever, rank, score: scored, retrievers, effort } = words.search;
	const rows = hit.origins.map((origin) =>
		h(
			"tr",
			{},
			h("td", {}, retrievers[origin.retriever] || origin.retriever),
			h("td", { class: "number" }, String(origin.rank + 1)),
			h("td", { class: "number" }, score(origin.score)),
			h("td", { class: "note" }, origin.effort ? effort(origin.effort.loads, origin.effort.compared) : ""),
		),
	);
	const head = [retriever, rank, scored, ""].map((one) => h(one ? "th" : "td", one ? { scope: "col" } : {}, one));
	return h("table", { class: "origins" }, h("caption", { class: "unseen" }, title || why), h("tr", {}, head), rows);
}

// Values that a filter can be made of, as it is written.
function filtersOf(metadata) {
	return Object.entries(metadata)
		.filter(([key, value]) => !/\s/.test(key) && ["string", "number", "boolean"].includes(typeof value))
		.filter(([key, value]) => key !== "section" && String(value).length <= 80)
		.map(([key, value]) => `${key} = ${typeof value === "string" && isJson(value) ? JSON.stringify(value) : value}`);
}

function isJson(text) {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

function why(found, addFilter) {
	const { hit, why: line, way } = found;
	const filters = filtersOf(hit.metadata);
	return h(
		"details",
		{ class: "why" },
		h("summary", {}, words.search.why),
		whyTable(hit),
		h("p", { class: "note" }, own(line)),
		way ? h("p", { class: "way-words" }, `${words.search.path}: `, own(way)) : null,
		hit.note ? h("p", { class: "note" }, own(hit.note)) : null,
		filters.length
			? h(
					"p",
					{ class: "filters" },
					filters.map((filter) =>
						button(filter, () => addFilter(filter), {
							class: "chip",
							dir: "auto",
							"aria-label": words.search.only(filter),
						}),
					),
				)
			: null,
	);
}

// A hit as an item of a list.
//   file       the file that it is from
//   source     what it opens: {id, mark}
//   width      pixels that its picture may take
export function hitItem(found, { file, source, addFilter, width }) {
	const { hit, way, place, section } = found;
	const name = hit.title || hit.uri || hit.chunk.document_id;
	const where = [hit.uri !== hit.title ? hit.uri : "", place, section].filter(Boolean);
	const tag = hit.summary
		? link(
				to("/outline", { file, node: hit.summary.id }),
				{ class: "tag" },
				`${words.search.summary} · ${many(hit.summary.chunks.length, "passage")}`,
			)
		: null;
	return h(
		"li",
		{ class: "hit", "data-key": `${file}/${hit.summary ? hit.summary.id : hit.chunk.id}` },
		h("h3", {}, sourceLink(file, source, { "data-stop": "", dir: "auto" }, name), tag),
		where.length
			? h(
					"p",
					{ class: "note where" },
					where.flatMap((one, at) => (at ? [" · ", own(one)] : [own(one)])),
				)
			: null,
		h("p", { class: "excerpt", dir: "auto" }, excerpt(found.pieces)),
		hit.path ? pathPicture(hit.path.nodes, way, width) : null,
		why(found, addFilter),
	);
}

// The tree of summaries, opened step by step, with the places where each sentence stands.

import { get } from "./api.js";
import { fill, h, heading, link, own } from "./dom.js";
import { trouble } from "./fault.js";
import { markOf } from "./pieces.js";
import { to } from "./place.js";
import { words } from "./words.js";

const said = words.outline;

export async function show(box, { place, file }) {
	const list = h("ul", { class: "outline" });
	fill(box, heading(1, said.title), list);
	if (!file.has_tree) {
		fill(list, h("li", { class: "note" }, said.none));
		return {};
	}
	const asked = { file: file.name };
	const nodes = await get("/outline", { ...asked, node: place.node, layers: 1 });
	const items = nodes.map((one) => nodeItem(one, asked, place.file));
	fill(list, items);
	if (place.node && items.length === 1) {
		items[0].querySelector("details")?.setAttribute("open", "");
		box.prepend(link(to("/outline", { file: place.file }), {}, said.title));
	}
	return {};
}

// Its children and its sources are asked for when it is first opened.
function nodeItem(node, asked, shownFile) {
	if (!node.layer) return chunkItem(node, asked, shownFile);
	const inner = h("div", { class: "inner" });
	const details = h(
		"details",
		{ class: "node" },
		h(
			"summary",
			{ "data-stop": "" },
			h("span", { class: "prose", dir: "auto" }, node.text),
			h("span", { class: "note" }, ` ${said.layer(node.layer)} · ${said.passages(node.count)}`),
		),
		inner,
	);
	let asking = false;
	details.addEventListener("toggle", async () => {
		if (!details.open || asking) return;
		asking = true;
		try {
			const [summary, opened] = await Promise.all([
				get("/summary", { ...asked, id: node.id }),
				get("/outline", { ...asked, node: node.id, layers: 2 }),
			]);
			const children = opened.find((one) => one.id === node.id)?.children || opened;
			fill(
				inner,
				sourcesOf(summary, shownFile),
				h(
					"ul",
					{ class: "outline" },
					children.map((one) => nodeItem(one, asked, shownFile)),
				),
			);
		} catch (error) {
			asking = false;
			fill(inner, trouble(error));
		}
	});
	return h("li", { id: `node-${node.id}` }, details);
}

// The summary's sentences, each a link to where it stands. Offsets count characters.
function sourcesOf({ text, sources }, file) {
	if (!sources.length) return h("p", { class: "note" }, said.model);
	const signs = Array.from(text);
	const cut = (one) => signs.slice(one.start, one.end).join("");
	const row = (one) =>
		h(
			"li",
			{},
			link(
				to("/document", { file, id: one.document_id, mark: markOf(one.document_start, one.document_end) }),
				{ dir: "auto" },
				cut(one),
			),
		);
	return h(
		"details",
		{ class: "where-it-stands", open: true },
		h("summary", {}, said.sources),
		h("ol", {}, sources.map(row)),
	);
}

function chunkItem(node, asked, file) {
	const name = own(node.title || said.layer(0));
	const passage = h("p", { class: "excerpt", dir: "auto" }, node.text);
	return h(
		"li",
		{ class: "leaf-item" },
		link(to("/document", { file, chunk: node.id }), { "data-stop": "" }, name),
		passage,
	);
}

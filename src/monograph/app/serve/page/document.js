// A document: its text as it was read, its page as a picture, its passages, names and summaries. Without one, the list.

import { address, get, post } from "./api.js";
import { button, fill, h, heading, link, own, say } from "./dom.js";
import { trouble } from "./fault.js";
import { finder, nameRow, row } from "./finder.js";
import { pageOf } from "./leaf.js";
import { markOf } from "./pieces.js";
import { changed, go, here, to } from "./place.js";
import { readerOf } from "./reader.js";
import { bytes, count, many, words } from "./words.js";

const said = words.document;
const SHOWN = 100;

export async function show(box, asked) {
	const { chunk, file } = asked.place;
	if (chunk) {
		const [one] = await get("/chunk", { id: chunk, around: 0, file: asked.file.name });
		go(to("/document", { file, id: one.document_id, mark: markOf(one.start, one.end) }), { replace: true });
		return {};
	}
	return asked.place.id ? showOne(box, asked) : showList(box, asked);
}

function showList(box, { place, file }) {
	return finder(box, place, "id", said, async (like, start) => {
		const { documents, count: all } = await get("/documents", { file: file.name, like, start, limit: SHOWN });
		const address = (one) => to("/document", { file: place.file, id: one.id });
		const rows = documents.map((one) =>
			row(address(one), one.title || one.uri || one.id, one.uri ? own(one.uri, { class: "note" }) : null),
		);
		return { rows, count: all, said: (shown) => said.count(shown, all) };
	});
}

async function showOne(box, { place, file, serving }) {
	const name = file.name;
	const asked = { id: place.id, file: name };
	const [first, source] = await Promise.all([
		get("/document/text", { ...asked, length: 1 }),
		get("/document/source", asked).catch(() => null),
	]);
	const view = place.view || "";
	const body = h("div", { class: "document-body" });
	const title = first.title || first.uri || first.id;
	fill(
		box,
		h(
			"header",
			{ class: "document-head" },
			heading(1, title),
			h(
				"p",
				{ class: "note" },
				first.uri && first.uri !== title ? [own(first.uri), " · "] : null,
				said.characters(first.characters),
			),
			originalOf(source, asked),
			viewLinks(view, source),
		),
		body,
	);
	const made = await VIEWS[view in VIEWS ? view : ""](body, { place, asked, first, source, title });
	if (serving.write) box.append(forgetting(asked, first.id, title, place));
	return { ...made, update: (where) => Boolean(made.update?.(where)) };
}

function viewLinks(view, source) {
	const { path: _, ...kept } = here();
	const shown = Object.entries(said.tabs).filter(([key]) => key !== "page" || source?.pages);
	const item = ([key, label]) =>
		h(
			"li",
			{},
			link(
				to("/document", { ...kept, view: key || undefined, at: undefined }),
				{ "aria-current": key === view ? "page" : null },
				label,
			),
		);
	return h("nav", { class: "tabs", "aria-label": said.views }, h("ul", {}, shown.map(item)));
}

function originalOf(source, asked) {
	if (!source || source.state === "none") return null;
	const there = source.state === "same" || source.state === "changed";
	const facts = [source.size ? bytes(source.size) : "", said.states[source.state], source.part ? said.archive : ""]
		.filter(Boolean)
		.join(", ");
	const name = source.name || said.original;
	return h(
		"p",
		{ class: `note original ${source.state}` },
		`${said.original}: `,
		there ? link(address("/document/original", asked), { download: "" }, own(name)) : own(name),
		facts ? ` (${facts})` : null,
	);
}

const VIEWS = { "": showText, page: pageOf, chunks: showChunks, names: showNames, summaries: showSummaries };

async function showText(box, { place, asked, first, source, title }) {
	const reader = readerOf({
		...asked,
		mark: place.mark,
		q: place.q,
		at: place.at === undefined ? null : Number(place.at),
	});
	await reader.load();
	fill(box, imageOf(source, asked, title), contentsOf(first.sections), reader.element);
	const marked = (place.mark || []).length;
	if (marked) say(words.source.marked(marked));
	const placed = Boolean(marked || place.at);
	if (placed) requestAnimationFrame(reader.reveal);
	return { own: placed, leave: reader.leave };
}

function imageOf(source, asked, title) {
	if (source?.format !== "image" || source.state === "gone") return null;
	return h("figure", { class: "leaf" }, h("img", { src: address("/document/original", asked), alt: title }));
}

function contentsOf(sections) {
	const headed = sections.filter((one) => one.path.length);
	if (headed.length < 3) return null;
	const row = ({ start, path }) =>
		h(
			"li",
			{ class: `deep-${Math.min(path.length, 4)}` },
			link(changed({ at: start, mark: undefined }), { dir: "auto" }, path.at(-1)),
		);
	return h(
		"details",
		{ class: "contents" },
		h("summary", {}, said.contents),
		h("ol", {}, headed.slice(0, 500).map(row)),
	);
}

// The address of a document at a span.
function spanAddress(place, start, end) {
	return to("/document", { file: place.file, id: place.id, mark: markOf(start, end) });
}

async function showChunks(box, { place, asked }) {
	const chunks = await get("/document/chunks", asked);
	const row = (chunk) => {
		const facts = Object.entries(chunk.metadata).map(
			([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`,
		);
		return h(
			"li",
			{},
			h(
				"h2",
				{},
				link(spanAddress(place, chunk.start, chunk.end), { "data-stop": "" }, said.chunk(count(chunk.ordinal + 1))),
				h("span", { class: "note" }, ` ${chunk.start}–${chunk.end}`),
			),
			facts.length ? h("p", { class: "note" }, own(facts.join(" · "))) : null,
			h("p", { class: "prose", dir: "auto" }, chunk.text),
		);
	};
	fill(box, h("p", { class: "note" }, many(chunks.length, "passage")), h("ol", { class: "passages" }, chunks.map(row)));
	return {};
}

async function showNames(box, { place, asked }) {
	const names = await get("/document/names", asked);
	fill(
		box,
		names.length
			? h(
					"ul",
					{ class: "rows" },
					names.map((one) => nameRow(one, place.file)),
				)
			: h("p", { class: "note" }, said.noNames),
	);
	return {};
}

async function showSummaries(box, { place, asked }) {
	const summaries = await get("/document/summaries", asked);
	const row = (one) =>
		h(
			"li",
			{},
			h(
				"h2",
				{},
				link(to("/outline", { file: place.file, node: one.id }), { "data-stop": "" }, said.layer(one.layer)),
				h("span", { class: "note" }, ` ${many(one.chunks.length, "passage")}`),
			),
			h("p", { class: "prose", dir: "auto" }, one.text),
		);
	fill(
		box,
		summaries.length ? h("ol", { class: "passages" }, summaries.map(row)) : h("p", { class: "note" }, said.noSummaries),
	);
	return {};
}

// Asked twice: first opened, then said yes to.
function forgetting(asked, id, title, place) {
	const state = h("div", { role: "status" });
	const details = h("details", { class: "forget" });
	async function forget(event) {
		event.target.disabled = true;
		try {
			const job = await post("/remove", { ids: [id], forget: true, file: asked.file });
			const { ended } = await import("./jobs.js");
			const done = await ended(job);
			if (done.error) throw Object.assign(new Error(done.error.error), done.error);
			say(said.forgotten(title));
			go(to("/document", { file: place.file }), { replace: true });
		} catch (error) {
			event.target.disabled = false;
			fill(state, trouble(error));
		}
	}
	details.append(
		h("summary", {}, said.forget),
		h("p", {}, said.forgetAsk),
		h(
			"p",
			{ class: "buttons" },
			button(said.forgetSure, forget, { class: "bad" }),
			button(said.keep, () => (details.open = false)),
		),
		state,
	);
	return details;
}

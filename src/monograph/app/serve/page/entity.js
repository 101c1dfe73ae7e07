// A name: what is named together with it, as a picture and as a list, the passages, and the names that mean the same.

import { get, post } from "./api.js";
import { drawing } from "./drawing.js";
import { button, fill, h, heading, link, own, say } from "./dom.js";
import { trouble } from "./fault.js";
import { finder, nameRow } from "./finder.js";
import { pathPicture } from "./path.js";
import { markOf } from "./pieces.js";
import { changed, go, to } from "./place.js";
import { count, many, words } from "./words.js";

const said = words.entity;
const LISTED = 200;
const NEIGHBOURS = [60, 150, 300];
const PASSAGES = 12;

export function show(box, asked) {
	return asked.place.name ? showOne(box, asked) : showList(box, asked);
}

function showList(box, { place, file }) {
	return finder(box, place, "name", said, async (name) => {
		const { entities } = await get("/entities", { file: file.name, name, k: LISTED });
		return { rows: entities.map((one) => nameRow(one, place.file)), count: entities.length, said: said.listed };
	});
}

async function showOne(box, { place, file, serving }) {
	const asked = { file: file.name, name: place.name };
	const limit = Number(place.limit) || NEIGHBOURS[0];
	const hops = Number(place.hops) || 1;
	const found = await get("/neighbourhood", { ...asked, hops, limit });
	const centre = found.entities.filter((one) => found.centre.includes(one.id));
	const address = (name) => to("/entity", { file: place.file, name, hops: place.hops, limit: place.limit });
	const picture = await drawing(found, (at) => go(address(found.entities[at].name))).catch((error) => ({
		element: trouble(error),
		colours: [],
		begin() {},
		point() {},
		leave() {},
	}));
	const meaning = h("section", { class: "meaning" });
	fill(
		box,
		h(
			"header",
			{},
			heading(1, centre[0]?.name || place.name),
			centre.map((one) => aboutOf(one, found.documents, place.file)),
		),
		choices(hops, limit),
		h("div", { class: "pair around" }, picture.element, neighbourList(found, picture, address)),
		passages(found, place.file),
		meaning,
		routeForm(place),
	);
	picture.begin();
	await Promise.all([
		showMerges(meaning, asked, centre, serving.write),
		place.other ? showRoutes(box, asked, place) : null,
	]);
	return { leave: picture.leave };
}

function aboutOf(one, documents, file) {
	const titles = new Map(documents.map((document) => [document.id, document.title || document.uri]));
	const others = one.names.filter((name) => name !== one.name);
	const listed = (parts) => parts.flatMap((part, at) => (at ? [", ", part] : [part]));
	return [
		h("p", { class: "note" }, `${one.kind} · ${words.document.inChunks(one.chunks)}`),
		others.length ? h("p", {}, `${said.also} `, listed(others.map((name) => own(name)))) : null,
		one.documents.length
			? h(
					"p",
					{},
					`${said.subject} `,
					listed(one.documents.map((id) => link(to("/document", { file, id }), {}, own(titles.get(id) || id)))),
				)
			: null,
	];
}

function choices(hops, limit) {
	const chips = (name, values, now) =>
		values.map((value, at) =>
			link(
				changed({ [name]: at ? value : undefined }),
				{ class: "chip", "aria-current": value === now ? "true" : null },
				count(value),
			),
		);
	return h(
		"p",
		{ class: "choices" },
		h("span", { class: "note" }, said.hops),
		chips("hops", [1, 2, 3], hops),
		h("span", { class: "note" }, said.most),
		chips("limit", NEIGHBOURS, limit),
	);
}

function neighbourList({ centre, entities, links, cut }, picture, address) {
	const weights = new Map();
	for (const one of links) {
		for (const [from, other] of [
			[one.source, one.target],
			[one.target, one.source],
		]) {
			if (centre.includes(from)) weights.set(other, one);
		}
	}
	const rows = entities.map((one, at) => {
		if (centre.includes(one.id)) return null;
		const joined = weights.get(one.id);
		const facts = [one.kind, joined ? said.link(joined.chunks.length) : words.document.inChunks(one.chunks)].join(
			" · ",
		);
		const attributes = {
			class: "row",
			"data-stop": "",
			onfocus: () => picture.point(at),
			onblur: () => picture.point(null),
			onmouseenter: () => picture.point(at),
			onmouseleave: () => picture.point(null),
		};
		return h(
			"li",
			{},
			link(
				address(one.name),
				attributes,
				h("span", { class: `dot kind-${picture.colours[at] ?? 9}`, "aria-hidden": "true" }),
				h("span", { class: "name", dir: "auto" }, one.name),
				h("span", { class: "note" }, facts),
				joined?.description ? h("span", { class: "said", dir: "auto" }, joined.description) : null,
			),
		);
	});
	return h(
		"section",
		{ class: "neighbours", "aria-labelledby": "neighbours" },
		h("h2", { id: "neighbours" }, said.neighbours),
		h("ul", { class: "rows" }, rows),
		cut ? h("p", { class: "note" }, said.cut(cut)) : null,
	);
}

function passages({ centre, chunks, mentions, documents }, file) {
	const naming = new Set(mentions.filter(([entity]) => centre.includes(entity)).map(([, chunk]) => chunk));
	const mine = chunks.filter((chunk) => naming.has(chunk.id));
	const titles = new Map(documents.map((document) => [document.id, document.title || document.uri]));
	const row = (chunk) =>
		h(
			"li",
			{},
			h(
				"h3",
				{},
				link(
					to("/document", { file, id: chunk.document_id, mark: markOf(chunk.start, chunk.end) }),
					{ "data-stop": "", dir: "auto" },
					titles.get(chunk.document_id) || chunk.document_id,
				),
			),
			h("p", { class: "excerpt", dir: "auto" }, chunk.text),
		);
	const more = mine.length - PASSAGES;
	return h(
		"section",
		{ class: "part" },
		h("h2", {}, many(mine.length, "passage")),
		h("ol", { class: "passages" }, mine.slice(0, PASSAGES).map(row)),
		more > 0 ? h("p", { class: "note" }, said.morePassages(more)) : null,
	);
}

// Names that were taken to mean this one, with the reason; they can be set apart and united again.
async function showMerges(box, asked, centre, write) {
	const state = h("div", { role: "status" });
	async function draw() {
		const { merges } = await get("/entities", { ...asked, why: true, k: 1 });
		const own_ = new Set(centre.flatMap((one) => [one.name, ...one.names]));
		const mine = merges.filter((one) => own_.has(one.name) || own_.has(one.other));
		fill(
			box,
			h("h2", {}, said.merged),
			mine.length ? h("ul", { class: "merges" }, mine.map(row)) : h("p", { class: "note" }, said.alone),
			state,
		);
	}
	async function change(where, one) {
		try {
			await post(where, { file: asked.file, name: one.name, other: one.other });
			await draw();
			say(where.endsWith("apart") ? said.undone : said.merged);
		} catch (error) {
			fill(state, trouble(error));
		}
	}
	function row(one) {
		const [where, label] = one.undone ? ["/names/unite", said.unite] : ["/names/apart", said.apart];
		return h(
			"li",
			{},
			h("p", {}, own(one.other), " → ", own(one.name), one.undone ? h("span", { class: "tag" }, said.undone) : null),
			h("p", { class: "note" }, own(said.why(one.reason, one.detail))),
			write ? button(label, () => change(where, one), { "aria-label": `${label}: ${one.other}, ${one.name}` }) : null,
		);
	}
	await draw();
}

function routeForm(place) {
	const other = h("input", { id: "other", placeholder: said.routeHint, dir: "auto", autocomplete: "off" });
	other.value = place.other || "";
	const submit = (event) => {
		event.preventDefault();
		go(changed({ other: other.value.trim() }));
	};
	return h(
		"section",
		{ class: "part" },
		h("h2", {}, h("label", { for: "other" }, said.route)),
		h("form", { class: "line", onsubmit: submit }, other, button(said.routePress, null, { type: "submit" })),
		h("div", { class: "routes", role: "status" }),
	);
}

async function showRoutes(box, asked, place) {
	const list = box.querySelector(".routes");
	try {
		const routes = await get("/routes", { ...asked, other: place.other });
		const row = ({ entities }) => {
			const nodes = entities.map(({ name }) => ({ kind: "entity", name }));
			const names = entities.map(({ name }) => link(to("/entity", { file: place.file, name }), {}, own(name)));
			return h(
				"li",
				{},
				pathPicture(nodes, entities.map(({ name }) => name).join(" → "), Math.max(240, list.clientWidth)),
				h(
					"p",
					{ class: "note" },
					names.flatMap((name, at) => (at ? [" → ", name] : [name])),
				),
			);
		};
		fill(
			list,
			routes.length ? h("ol", { class: "passages" }, routes.map(row)) : h("p", { class: "note" }, said.noRoute),
		);
	} catch (error) {
		fill(list, trouble(error));
	}
}

// Search: one box, the hits of each file, and the source of the chosen one beside them.

import { get } from "./api.js";
import { CLOSED, besideOf, isWide, openedAt, relink } from "./beside.js";
import { button, fill, h, heading, say } from "./dom.js";
import { trouble } from "./fault.js";
import { hitItem, sourceOf } from "./hit.js";
import { changed, go, here } from "./place.js";
import { words } from "./words.js";

const PAUSE = 200; // milliseconds after a key, before the hits follow
const MOST = [5, 10, 20, 50];

export async function show(box, { place, serving }) {
	const said = words.search;
	const form = searchForm(place, serving);
	const results = h("section", { class: "results", "aria-label": said.box });
	const beside = besideOf(said.empty && words.source.pick);
	let asked = "";
	let running = null;
	let first = null;

	fill(
		box,
		heading(1, said.box, { class: "unseen" }),
		form.element,
		h("div", { class: "pair" }, results, beside.element),
	);

	async function run(where) {
		running?.abort();
		running = new AbortController();
		const { q, k, how, where: filters, file } = where;
		first = null;
		if (!q?.trim()) {
			box.dataset.state = "empty";
			fill(results, h("p", { class: "note empty" }, said.empty));
			return;
		}
		results.setAttribute("aria-busy", "true");
		try {
			const found = await get("/search", { q, k, how, where: filters, file }, running.signal);
			box.dataset.state = "found";
			showFound(found);
		} catch (error) {
			if (error.name === "AbortError") return;
			box.dataset.state = "failed";
			fill(results, trouble(error));
		}
		results.removeAttribute("aria-busy");
	}

	function showFound(found) {
		const several = found.files.length > 1;
		const hits = found.files.reduce((sum, one) => sum + one.hits.length, 0);
		const width = Math.max(200, results.clientWidth - 8);
		fill(
			results,
			h("p", { class: "note count" }, hits ? said.found(hits, found.files.length) : said.none),
			found.files.map((one) => inFile(one, several, width)),
		);
		for (const one of found.files) {
			if (!first && one.hits.length) first = { file: one.file, ...sourceOf(one.hits[0]) };
		}
		say(hits ? said.found(hits, found.files.length) : said.none);
	}

	function inFile(one, several, width) {
		const items = one.hits.map((hit) =>
			hitItem(hit, { file: one.file, source: sourceOf(hit), addFilter: form.add, width }),
		);
		if (several && !items.length && !one.error) return null;
		return h(
			"section",
			{ class: "of-file" },
			several ? h("h2", {}, one.file) : null,
			one.error
				? h("div", { class: "trouble" }, h("p", { class: "what" }, one.error.error), h("p", {}, one.error.hint))
				: null,
			one.doubt && items.length ? h("p", { class: "doubt" }, one.doubt) : null,
			items.length ? h("ol", { class: "hits" }, items) : null,
		);
	}

	async function open(where, focus) {
		const chosen = openedAt(where);
		const wanted = chosen || (isWide() ? first : null);
		box.classList.toggle("source-open", Boolean(chosen));
		relink(results, wanted);
		const asking = wanted ? { ...wanted, q: where.q || "" } : null;
		await beside.show(asking, { chosen: Boolean(chosen), focus: focus && Boolean(chosen) && !isWide() });
	}

	async function follow(where, focus) {
		const wanted = JSON.stringify([where.q, where.k, where.how, where.where, where.file]);
		if (wanted !== asked) {
			asked = wanted;
			form.set(where);
			await run(where);
			if (wanted !== asked) return;
		}
		await open(where, focus);
	}

	await follow(place, false);
	return {
		update(where) {
			follow(where, true);
			return true;
		},
		leave() {
			running?.abort();
			beside.leave();
		},
	};
}

function searchForm(place, serving) {
	const said = words.search;
	const box = h("input", {
		type: "search",
		name: "q",
		id: "q",
		"data-first": "",
		"aria-label": said.box,
		placeholder: said.hint,
		autocomplete: "off",
		spellcheck: "false",
		enterkeyhint: "search",
		dir: "auto",
	});
	const way = h(
		"select",
		{ id: "how" },
		serving.ways.map((one) => h("option", { value: one }, one)),
	);
	const most = h(
		"select",
		{ id: "k" },
		MOST.map((one) => h("option", { value: one }, String(one))),
	);
	const filter = h("input", {
		id: "where",
		placeholder: said.filterHint,
		"aria-describedby": "where-help",
		autocomplete: "off",
		spellcheck: "false",
		dir: "auto",
	});
	const chips = h("ul", { class: "chips", "aria-label": said.filters });
	const options = h(
		"details",
		{ class: "options" },
		h("summary", {}, said.options),
		h(
			"div",
			{ class: "fields" },
			h("label", { for: "how" }, h("span", {}, said.way), way),
			h("label", { for: "k" }, h("span", {}, said.most), most),
			h(
				"form",
				{ class: "filter", onsubmit: addTyped },
				h("label", { for: "where" }, h("span", {}, said.filters), filter),
				button(said.add, addTyped, { type: "submit" }),
			),
		),
		h("p", { class: "note", id: "where-help" }, said.filterHelp),
	);
	const form = h(
		"form",
		{ role: "search", onsubmit: submit },
		box,
		button(said.press, submit, { type: "submit", class: "main" }),
	);
	let filters = [];
	let typing = 0;
	let settled = true; // whether the address that is shown is one to come back to

	function leadTo(changes, replace = false) {
		clearTimeout(typing);
		go(changed({ ...CLOSED, ...changes }), { replace });
	}
	function submit(event) {
		event.preventDefault();
		if (box.value !== (here().q || "")) leadTo({ q: box.value }, !settled);
		settled = true;
		clearTimeout(typing);
	}
	box.addEventListener("input", () => {
		clearTimeout(typing);
		typing = setTimeout(() => {
			if (box.value === (here().q || "") || box.value.trim().length === 1) return;
			leadTo({ q: box.value }, !settled);
			settled = false;
		}, PAUSE);
	});
	way.addEventListener("change", () => leadTo({ how: way.value === "auto" ? undefined : way.value }));
	most.addEventListener("change", () => leadTo({ k: most.value === "5" ? undefined : most.value }));

	function add(one) {
		if (!filters.includes(one)) leadTo({ where: [...filters, one] });
	}
	function addTyped(event) {
		event.preventDefault();
		const one = filter.value.trim();
		if (!one) return;
		filter.value = "";
		add(one);
	}
	function chip(one) {
		const drop = () => {
			leadTo({ where: filters.filter((other) => other !== one) });
			filter.focus();
		};
		return h(
			"li",
			{},
			button([h("bdi", {}, one), h("span", { "aria-hidden": "true" }, " ×")], drop, {
				class: "chip",
				"aria-label": said.drop(one),
			}),
		);
	}
	function set(where) {
		if (document.activeElement !== box || settled) box.value = where.q || "";
		way.value = where.how || "auto";
		if (where.how && way.value !== where.how) {
			way.append(h("option", { value: where.how }, where.how));
			way.value = where.how;
		}
		most.value = where.k || "5";
		if (!most.value) {
			most.append(h("option", { value: where.k }, where.k));
			most.value = where.k;
		}
		filters = where.where || [];
		fill(chips, filters.map(chip));
		chips.hidden = !filters.length;
		if (filters.length || where.how || where.k) options.open = true;
	}
	box.addEventListener("keydown", (event) => {
		if (event.key === "ArrowDown") {
			event.preventDefault();
			document.querySelector("[data-stop]")?.focus();
		}
	});
	return { element: h("div", { class: "asking" }, form, chips, options), set, add };
}

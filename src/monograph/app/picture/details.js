// What is known of one entity, chunk, link or path.

const DETAILS = {
	entity: entityDetails,
	chunk: chunkDetails,
	link: linkDetails,
	path: pathDetails,
	question: questionDetails,
};
const SHOWN_CHUNKS = 30;

function detailsOf(one, graph, choose) {
	return [
		button({ class: "back", id: "back" }, () => choose(null), "← All"),
		...DETAILS[one.type](one, graph, choose).filter(Boolean),
	];
}

function heading(text, ...facts) {
	return element(
		"div",
		{ class: "head" },
		element("h2", { tabindex: "-1", id: "heading", dir: "auto" }, text),
		element(
			"p",
			{ class: "muted" },
			facts.filter(Boolean).flatMap((fact, place) => (place ? [" · ", fact] : [fact])),
		),
	);
}

function entityDetails(entity, graph, choose) {
	const links = entity.edges.filter((edge) => edge.type === "link").sort((one, other) => other.weight - one.weight);
	const chunks = entity.edges.filter((edge) => edge.type === "mention").map((edge) => otherEnd(edge, entity));
	const kind = element("span", {}, mark(entity), name(entity.kind || "unknown kind"));
	return [
		heading(entity.label, kind, entity.count ? `named in ${many(entity.count, "chunk")}` : null),
		entity.names.length ? fact("Also", listed(entity.names)) : null,
		entity.documents.length ? fact("Subject of", listed(entity.documents)) : null,
		links.length
			? element("section", {}, element("h3", {}, many(links.length, "link")), linkList(links, entity, choose))
			: null,
		chunkSection(chunks, [entity], choose),
	];
}

function chunkDetails(chunk, graph, choose) {
	const named = chunk.edges.filter((edge) => edge.type === "mention").map((edge) => otherEnd(edge, chunk));
	return [
		heading(chunk.name || chunk.title || "Chunk", many(named.length, "entity")),
		passage(chunk, named),
		named.length
			? section(
					"Names",
					"named",
					named.map((entity) => nodeButton(entity, choose)),
				)
			: null,
	];
}

function linkDetails(link, graph, choose) {
	return [
		heading(
			`${link.source.label} — ${link.target.label}`,
			`weight ${link.weight.toPrecision(3)}`,
			`from ${many(link.count, "chunk")}`,
		),
		link.description ? element("p", { class: "prose", dir: "auto" }, link.description) : null,
		link.keywords.length
			? element(
					"p",
					{ class: "keywords" },
					link.keywords.map((word) => name(word, { class: "keyword" })),
				)
			: null,
		section("Joins", "ends", [nodeButton(link.source, choose), nodeButton(link.target, choose)]),
		chunkSection(link.chunks, [link.source, link.target], choose),
	];
}

function pathDetails(path, graph, choose) {
	const rows = path.stations.map((station) => nodeButton(station, choose));
	const entities = path.stations.filter((station) => station.type === "entity");
	return [
		heading("Path", `${path.share.toFixed(2)} of the best`),
		element(
			"ol",
			{ class: "rows steps", id: "stations" },
			rows.map((row) => element("li", {}, row)),
		),
		chunkSection(
			path.stations.filter((station) => station.type === "chunk"),
			entities,
			choose,
		),
	];
}

function questionDetails(question, graph, choose) {
	const from = graph.paths.filter((path) => path.stations.includes(question));
	return [
		heading(question.label, "the question"),
		element(
			"ol",
			{ class: "rows" },
			from.map((path) => element("li", {}, pathButton(path, choose))),
		),
	];
}

function fact(what, value) {
	return element("p", { class: "fact" }, element("span", { class: "muted" }, `${what} `), value);
}

function listed(texts) {
	return element(
		"span",
		{},
		texts.flatMap((text, place) => (place ? [", ", name(text)] : [name(text)])),
	);
}

function linkList(links, from, choose) {
	const rows = links.map((link) => {
		const other = otherEnd(link, from);
		const said = link.description ? element("span", { class: "said", dir: "auto" }, link.description) : null;
		return element(
			"li",
			{},
			button(
				{ class: "row link", "data-key": link.key },
				() => choose(link),
				mark(other),
				name(other.label, { class: "label" }),
				bar(link.share),
				element("span", { class: "note" }, many(link.count, "chunk")),
				said,
			),
		);
	});
	return element("ul", { class: "rows", id: "links" }, rows);
}

function chunkSection(chunks, entities, choose) {
	if (!chunks.length) return null;
	const more = chunks.length - SHOWN_CHUNKS;
	return element(
		"section",
		{},
		element("h3", {}, many(chunks.length, "chunk") + " here"),
		chunks.slice(0, SHOWN_CHUNKS).map((chunk) => passage(chunk, entities, choose)),
		more > 0 ? element("p", { class: "muted" }, `${many(more, "chunk")} more in the full list.`) : null,
	);
}

// A chunk's text with the names of entities marked, and the place it comes from.
function passage(chunk, entities, choose) {
	const facts = [chunk.cited, spanOf(chunk)].filter(Boolean).join(" · ");
	const place = [name(chunk.title || chunk.document || "not in this picture"), chunk.document ? ` ${facts}` : ""];
	const file = chunk.title && chunk.document ? element("p", { class: "source" }, name(chunk.document)) : null;
	const source = choose
		? button({ class: "source", "data-key": chunk.key }, () => choose(chunk), place)
		: element("p", { class: "source" }, place);
	const where = chunk.section ? element("p", { class: "muted", dir: "auto" }, chunk.section) : null;
	const left = chunk.document && !chunk.whole ? element("p", { class: "muted" }, "… the document has the rest.") : null;
	return element(
		"article",
		{},
		source,
		file,
		where,
		element("blockquote", { dir: "auto" }, marked(chunk.text, entities)),
		left,
	);
}

function marked(text, entities) {
	const names = entities.flatMap((entity) => [entity.name, ...entity.names]).filter((one) => one.length > 1);
	// A new line after a long one, inside a sentence, is where a file wrapped its text.
	const unwrapped = text.replace(/([^\n]{50,}[\p{L}\p{N},])\n(?=[\p{L}\p{N}(])/gu, "$1 ");
	if (!names.length) return [unwrapped];
	const longest = names.sort((one, other) => other.length - one.length);
	const pattern = longest.map((one) => one.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|");
	return unwrapped
		.split(new RegExp(`(${pattern})`, "giu"))
		.map((part, place) => (place % 2 ? element("mark", {}, part) : part));
}

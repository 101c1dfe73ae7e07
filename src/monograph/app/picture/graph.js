// The graph as the page holds it: nodes, edges, and what touches what.

const COLOURS = 10;
// Kinds that extractors find; any other takes a colour that is free on its page.
const ALIKE = [
	["person"],
	["place", "location"],
	["organisation", "organization"],
	["event"],
	["work", "quote"],
	["name"],
	["term", "concept"],
	["date", "time"],
	["code", "quantity", "email", "url"],
];
const KIND_COLOURS = Object.fromEntries(ALIKE.flatMap((kinds, colour) => kinds.map((kind) => [kind, colour])));

function graphOf(data) {
	const most = Math.max(5, ...data.entities.map((entity) => entity.count));
	const entities = data.entities.map((entity, place) => ({
		...entity,
		type: "entity",
		key: `entity-${place}`,
		label: entity.name || "(no name)",
		hop: Infinity,
		radius: 5 + 13 * Math.sqrt(entity.count / most),
		edges: [],
	}));
	const chunks = data.chunks.map((chunk, place) => ({
		...chunk,
		type: "chunk",
		key: `chunk-${place}`,
		label: chunk.name || [chunk.title, chunk.section].filter(Boolean).join(" › ") || placeOf(chunk),
		radius: 5,
		edges: [],
	}));
	const questions = data.questions.map((name, place) => ({
		type: "question",
		key: `question-${place}`,
		name,
		label: name,
		radius: 9,
		hop: 0,
		edges: [],
	}));
	const nodes = { entity: entities, chunk: chunks, question: questions };
	const weights = data.links.map((link) => link.weight).sort((one, other) => one - other);
	const median = weights[Math.floor(weights.length / 2)] || 0;
	const heaviest = Math.max(weights.at(-1) || 0, 2 * median, Number.MIN_VALUE); // links of one weight are not all thick
	const links = data.links.map((link, place) => ({
		...link,
		type: "link",
		key: `link-${place}`,
		source: entities[link.source],
		target: entities[link.target],
		chunks: link.chunks.map((chunk) => chunks[chunk]),
		share: Math.max(0, link.weight / heaviest),
	}));
	const mentions = data.mentions.map(([entity, chunk]) => ({
		type: "mention",
		source: entities[entity],
		target: chunks[chunk],
	}));
	const graph = { entities, chunks, questions, links, mentions, steps: [], paths: [], cut: data.cut };
	graph.centre = new Set(data.centre.map((place) => entities[place]));
	for (const entity of graph.centre) entity.radius = Math.max(entity.radius, 11);
	for (const edge of [...links, ...mentions]) join(edge);
	graph.paths = data.paths.map((path, place) => pathOf(graph, path, place, nodes));
	const best = Math.max(...graph.paths.map((path) => path.score), Number.MIN_VALUE);
	for (const path of graph.paths) path.share = Math.max(0, path.score / best);
	measureHops(graph);
	graph.kinds = kindsOf(entities);
	return graph;
}

function placeOf(chunk) {
	return chunk.document ? [chunk.document, chunk.cited, spanOf(chunk)].filter(Boolean).join(" ") : "chunk";
}

function spanOf(chunk) {
	return `${chunk.start}–${chunk.end}`;
}

function join(edge) {
	edge.source.edges.push(edge);
	edge.target.edges.push(edge);
}

function otherEnd(edge, node) {
	return edge.source === node ? edge.target : edge.source;
}

// A path's edges are the graph's own where it has them, and steps made here where it has none.
function pathOf(graph, path, place, nodes) {
	const stations = path.nodes.map(([type, index]) => nodes[type][index]);
	const edges = stations.slice(1).map((station, before) => {
		const from = stations[before];
		let edge = from.edges.find((one) => otherEnd(one, from) === station);
		if (!edge) {
			edge = { type: "step", source: from, target: station };
			join(edge);
			graph.steps.push(edge);
		}
		return edge;
	});
	for (const one of [...stations, ...edges]) one.onPath = true;
	return { type: "path", key: `path-${place}`, score: path.score, stations, edges };
}

function measureHops(graph) {
	let edge = graph.centre.size ? [...graph.centre] : graph.questions;
	for (const node of edge) node.hop = 0;
	for (let hop = 1; edge.length; hop += 1) {
		const next = edge
			.flatMap((node) => node.edges.map((one) => otherEnd(one, node)))
			.filter((node) => node.type === "entity" && node.hop === Infinity);
		edge = [...new Set(next)];
		for (const node of edge) node.hop = hop;
	}
}

// Kinds with their colour and number, most frequent first. A kind keeps its colour from page to page where it can.
function kindsOf(entities) {
	const counts = new Map();
	for (const entity of entities) counts.set(entity.kind, (counts.get(entity.kind) || 0) + 1);
	const sorted = [...counts].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
	const known = new Map(
		sorted.flatMap(([kind]) => (Object.hasOwn(KIND_COLOURS, kind) ? [[kind, KIND_COLOURS[kind]]] : [])),
	);
	const taken = new Set(known.values());
	const free = Array.from({ length: COLOURS - 1 }, (_, colour) => colour).filter((colour) => !taken.has(colour));
	const kinds = sorted.map(([kind, count]) => {
		const colour = known.has(kind) ? known.get(kind) : kind ? (free.shift() ?? COLOURS - 1) : COLOURS - 1;
		return { kind, name: kind || "unknown", count, colour };
	});
	const colours = new Map(kinds.map((one) => [one.kind, one.colour]));
	for (const entity of entities) entity.colour = colours.get(entity.kind);
	return kinds;
}

// Where everything stands: the same graph on the same screen gives the same picture.

const RING = 150;

// Entities and questions find their places first; chunks then settle among them and move nothing.
function settle(graph, shape) {
	const wide = Math.min(2.4, Math.max(0.4, shape)) ** 1.2;
	const people = [...graph.questions, ...graph.entities];
	const edges = [...graph.links, ...graph.steps.filter((step) => step.target.type !== "chunk")];
	const crowd = Math.sqrt(people.length / 40);
	const simulation = d3
		.forceSimulation(people)
		.stop()
		.force("links", d3.forceLink(edges).distance(linkLength).strength(linkPull))
		.force(
			"apart",
			d3
				.forceManyBody()
				.strength((node) => -260 - 22 * node.radius)
				.distanceMax(900),
		)
		.force("room", d3.forceCollide((node) => node.radius + 17).strength(0.9))
		.force(
			"rings",
			d3.forceRadial((node) => ringOf(node) * crowd).strength((node) => (node.hop > 1 ? 0.12 : 0.04)),
		)
		.force("across", d3.forceX().strength(0.075 / wide))
		.force("down", d3.forceY().strength(0.075 * wide));
	const [middle] = graph.centre.size === 1 && !graph.questions.length ? graph.centre : graph.questions;
	if (middle) Object.assign(middle, { fx: 0, fy: 0 });
	simulation.tick(320);
	fill(people, shape);
	settleChunks(graph);
	for (const node of [...people, ...graph.chunks]) Object.assign(node, { fx: null, fy: null });
}

// Stretches the picture across the screen, or down it, where it leaves much of the screen empty.
function fill(nodes, shape) {
	const extent = (values) => Math.max(...values) - Math.min(...values) || 1;
	const need = shape / (extent(nodes.map((node) => node.x)) / extent(nodes.map((node) => node.y)));
	const stretch = Math.min(1.5, Math.max(1 / 1.5, need));
	for (const node of nodes) {
		if (stretch > 1) node.x *= stretch;
		else node.y /= stretch;
	}
}

function settleChunks(graph) {
	const fixed = [...graph.questions, ...graph.entities];
	for (const node of fixed) Object.assign(node, { fx: node.x, fy: node.y });
	for (const chunk of graph.chunks) {
		const near = chunk.edges.map((edge) => otherEnd(edge, chunk)).filter((node) => node.type !== "chunk");
		const count = near.length || 1;
		chunk.x = near.reduce((sum, node) => sum + node.x, 0) / count;
		chunk.y = near.reduce((sum, node) => sum + node.y, 0) / count + 30;
	}
	const edges = [...graph.mentions, ...graph.steps.filter((step) => step.target.type === "chunk")];
	d3.forceSimulation([...fixed, ...graph.chunks])
		.stop()
		.force("mentions", d3.forceLink(edges).distance(38).strength(0.25))
		.force(
			"apart",
			d3
				.forceManyBody()
				.strength((node) => (node.type === "chunk" ? -50 : 0))
				.distanceMax(200),
		)
		.force(
			"room",
			d3.forceCollide((node) => node.radius + (node.type === "chunk" ? 5 : 14)),
		)
		.tick(120);
}

function ringOf(node) {
	return RING * Math.min(node.hop, 3);
}

function linkLength(edge) {
	return edge.type === "link" ? 150 - 70 * Math.sqrt(edge.share) + edge.source.radius + edge.target.radius : 130;
}

function linkPull(edge) {
	const fewest = Math.min(edge.source.edges.length, edge.target.edges.length);
	return (edge.type === "link" ? 0.35 + 0.65 * Math.sqrt(edge.share) : 0.7) / Math.max(1, Math.sqrt(fewest) * 1.6);
}

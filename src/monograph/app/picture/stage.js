// The canvas: how nodes, edges and labels are drawn.

const LABEL_CHARACTERS = 36;
const SANS = '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

function stageOf(canvas, graph, state) {
	const pen = canvas.getContext("2d");
	const stage = { canvas, width: 0, height: 0, x: 0, y: 0, zoom: 1, ink: {}, waiting: false };

	stage.redraw = () => {
		if (stage.waiting) return;
		stage.waiting = true;
		requestAnimationFrame(() => {
			stage.waiting = false;
			stage.draw();
		});
	};
	stage.screen = (node) => [
		(node.x - stage.x) * stage.zoom + stage.width / 2,
		(node.y - stage.y) * stage.zoom + stage.height / 2,
	];
	stage.world = (x, y) => [(x - stage.width / 2) / stage.zoom + stage.x, (y - stage.height / 2) / stage.zoom + stage.y];
	stage.size = (node) => node.radius * Math.min(2, Math.max(node.type === "entity" ? 0.5 : 0.8, stage.zoom));
	stage.shown = (node) => {
		if (node.type === "entity") return !state.hiddenKinds.has(node.kind);
		return node.type === "question" || node.onPath || state.chunksShown || node === state.selected;
	};
	stage.nodes = () => [...graph.questions, ...graph.entities, ...graph.chunks].filter(stage.shown);
	stage.edges = () => [...graph.mentions, ...graph.steps, ...graph.links].filter(stage.joins);
	stage.joins = (edge) => {
		const drawn = edge.type !== "mention" || edge.onPath || state.chunksShown || edge.target === state.selected;
		return drawn && stage.shown(edge.source) && stage.shown(edge.target);
	};

	stage.resize = () => {
		const box = canvas.parentElement.getBoundingClientRect();
		const scale = window.devicePixelRatio || 1;
		stage.width = box.width;
		stage.height = box.height;
		canvas.width = Math.round(box.width * scale);
		canvas.height = Math.round(box.height * scale);
		pen.setTransform(scale, 0, 0, scale, 0, 0);
	};

	stage.readColours = () => {
		const style = getComputedStyle(document.documentElement);
		const read = (name) => style.getPropertyValue(name).trim();
		stage.ink = Object.fromEntries(
			["ground", "ink", "muted", "line", "accent", "chunk"].map((name) => [name, read(`--${name}`)]),
		);
		stage.ink.kinds = Array.from({ length: COLOURS }, (_, colour) => read(`--kind-${colour}`));
		stage.redraw();
	};

	// What stands out now, and what steps back: nothing does where both sets are empty.
	function lit() {
		const { path, matches } = state;
		const chosen = state.hovered || state.selected;
		if (path && !state.hovered) return { nodes: new Set(path.stations), edges: new Set(path.edges), strong: true };
		if (chosen?.type === "link") return { nodes: new Set([chosen.source, chosen.target]), edges: new Set([chosen]) };
		if (chosen)
			return {
				nodes: new Set([chosen, ...chosen.edges.map((edge) => otherEnd(edge, chosen))]),
				edges: new Set(chosen.edges),
			};
		return { nodes: matches || new Set(), edges: new Set() };
	}

	stage.draw = () => {
		const now = lit();
		const dimmed = now.nodes.size > 0 || Boolean(state.matches);
		pen.clearRect(0, 0, stage.width, stage.height);
		for (const edge of stage.edges()) drawEdge(edge, now, dimmed);
		const nodes = stage.nodes();
		for (const node of nodes) drawNode(node, dimmed && !now.nodes.has(node));
		drawLabels(nodes.filter((node) => !dimmed || now.nodes.has(node)));
		pen.globalAlpha = 1;
	};

	function drawEdge(edge, now, dimmed) {
		const share = edge.type === "link" ? edge.share : 0.1;
		const [x1, y1] = stage.screen(edge.source);
		const [x2, y2] = stage.screen(edge.target);
		const bright = now.edges.has(edge);
		const way = edge.onPath && !bright;
		pen.beginPath();
		pen.moveTo(x1, y1);
		pen.lineTo(x2, y2);
		pen.setLineDash(edge.type === "link" || bright || way ? [] : [2, 4]);
		pen.lineCap = "round";
		pen.strokeStyle = bright || way ? stage.ink.accent : stage.ink.line;
		pen.globalAlpha = bright ? 0.85 : way && !dimmed ? 0.6 : (0.4 + 0.5 * share) * (dimmed ? 0.22 : 1);
		pen.lineWidth =
			(0.8 + 4 * share) * Math.min(1.4, Math.max(0.6, stage.zoom)) + (way ? 0.8 : bright && now.strong ? 1.6 : 0);
		pen.stroke();
		pen.setLineDash([]);
	}

	function drawNode(node, back) {
		const [x, y] = stage.screen(node);
		const size = stage.size(node);
		const chosen = node === state.selected;
		if (back) {
			pen.globalAlpha = 1;
			drawDisc(x, y, size, stage.ink.ground, stage.ink.ground, 1.5);
		}
		pen.globalAlpha = back ? 0.18 : 1;
		if (node.type === "chunk") drawSquare(x, y, size, chosen);
		else if (node.type === "question") drawDisc(x, y, size, stage.ink.ground, stage.ink.accent, 2.5);
		else {
			const colour = stage.ink.kinds[node.colour];
			if (graph.centre.has(node)) drawHalo(x, y, size, colour);
			drawDisc(x, y, size, colour, stage.ink.ground, 1.5);
			if (chosen) drawDisc(x, y, size + 4, null, stage.ink.ink, 2);
		}
	}

	function drawDisc(x, y, size, fill, stroke, width) {
		pen.beginPath();
		pen.arc(x, y, size, 0, 2 * Math.PI);
		pen.fillStyle = fill;
		if (fill) pen.fill();
		pen.strokeStyle = stroke;
		pen.lineWidth = width;
		pen.stroke();
	}

	function drawHalo(x, y, size, colour) {
		const alpha = pen.globalAlpha;
		pen.globalAlpha = alpha * 0.16;
		drawDisc(x, y, size + 13, colour, colour, 0.01);
		pen.globalAlpha = alpha;
		drawDisc(x, y, size + 5, stage.ink.ground, colour, 2);
	}

	function drawSquare(x, y, size, chosen) {
		pen.beginPath();
		pen.roundRect(x - size, y - size, 2 * size, 2 * size, 2);
		pen.fillStyle = stage.ink.chunk;
		pen.fill();
		pen.strokeStyle = chosen ? stage.ink.ink : stage.ink.ground;
		pen.lineWidth = chosen ? 2 : 1;
		pen.stroke();
	}

	// The most important labels come first. One that would lie on another, or on a node that is not much smaller than
	// its own, is tried on each side.
	function drawLabels(nodes) {
		const taken = nodes
			.filter((node) => node.type !== "chunk")
			.map((node) => {
				const [x, y] = stage.screen(node);
				const size = stage.size(node) + (graph.centre.has(node) ? 6 : 0);
				return { left: x - size, right: x + size, top: y - size, bottom: y + size, node };
			});
		for (const node of nodes.filter(isLabelled).sort((one, other) => importance(other) - importance(one))) {
			const strong = graph.centre.has(node) || node === state.selected || node === state.hovered;
			pen.font = strong ? `600 14px ${SANS}` : `${node.type === "entity" ? 500 : 400} 12px ${SANS}`;
			const text = clipped(node.label);
			const places = placesFor(node, pen.measureText(text).width, strong ? 18 : 15);
			const blocks = (other) => !other.node || (other.node !== node && other.node.radius > 0.6 * node.radius);
			const free = places.find(
				(place) => inside(place) && !taken.some((other) => blocks(other) && overlap(place, other)),
			);
			const place = free || (strong ? places[0] : null);
			if (!place) continue;
			taken.push(place);
			pen.globalAlpha = 1;
			pen.textAlign = "center";
			pen.textBaseline = "middle";
			pen.lineJoin = "round";
			pen.lineWidth = 3.5;
			pen.strokeStyle = stage.ink.ground;
			pen.fillStyle = node.type === "chunk" ? stage.ink.muted : stage.ink.ink;
			pen.strokeText(text, (place.left + place.right) / 2, (place.top + place.bottom) / 2);
			pen.fillText(text, (place.left + place.right) / 2, (place.top + place.bottom) / 2);
		}
	}

	function isLabelled(node) {
		return (
			node.type !== "chunk" ||
			node === state.selected ||
			node === state.hovered ||
			Boolean(state.path?.stations.includes(node))
		);
	}

	function importance(node) {
		const raised = node === state.hovered ? 4e3 : node === state.selected ? 3e3 : graph.centre.has(node) ? 2e3 : 0;
		return raised + (node.type === "question" ? 1e3 : node.radius);
	}

	function placesFor(node, width, height) {
		const [x, y] = stage.screen(node);
		const away = stage.size(node) + (graph.centre.has(node) ? 8 : 3);
		const at = (left, top) => ({ left, right: left + width, top, bottom: top + height });
		return [
			at(x - width / 2, y + away),
			at(x + away + 2, y - height / 2),
			at(x - away - 2 - width, y - height / 2),
			at(x - width / 2, y - away - height),
		];
	}

	function inside(place) {
		return place.left > 2 && place.right < stage.width - 2 && place.top > 2 && place.bottom < stage.height - 2;
	}

	return stage;
}

function overlap(one, other) {
	return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

function clipped(label) {
	const signs = Array.from(label.replace(/\s+/g, " ").slice(0, 4 * LABEL_CHARACTERS));
	return signs.length > LABEL_CHARACTERS
		? `${signs
				.slice(0, LABEL_CHARACTERS - 1)
				.join("")
				.trimEnd()}…`
		: signs.join("");
}

// The neighbourhood as a picture: drawn by the same code that draws the page of `monograph graph --html`.

import { button, h, say } from "./dom.js";
import { words } from "./words.js";

const said = words.entity;
const SCRIPTS = [
	"vendor/d3-dispatch.min.js",
	"vendor/d3-quadtree.min.js",
	"vendor/d3-timer.min.js",
	"vendor/d3-force.min.js",
	"graph.js",
	"layout.js",
	"stage.js",
	"pointer.js",
].map((name) => `/picture/${name}`);
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
let loaded = null;

// Addresses of scripts are trusted where they are those above, and no others.
const trusted = globalThis.trustedTypes?.createPolicy("monograph", {
	createScriptURL(address) {
		if (SCRIPTS.includes(address)) return address;
		throw new TypeError(`not a script of this page: ${address}`);
	},
});

function load() {
	loaded ??= Promise.all(
		SCRIPTS.map(
			(address) =>
				new Promise((resolve, reject) => {
					const script = document.createElement("script");
					script.async = false; // one after the other
					script.src = trusted ? trusted.createScriptURL(address) : address;
					script.addEventListener("load", resolve);
					script.addEventListener("error", () => reject(new Error(address)));
					document.head.append(script);
				}),
		),
	);
	return loaded;
}

// What graphOf takes: nodes are known by their places.
function dataOf({ centre, entities, links }) {
	const places = new Map(entities.map((entity, at) => [entity.id, at]));
	const known = (id) => places.has(id);
	return {
		centre: centre.filter(known).map((id) => places.get(id)),
		entities: entities.map(({ name, kind, names, chunks }) => ({ name, kind, names, count: chunks, documents: [] })),
		links: links
			.filter((link) => known(link.source) && known(link.target))
			.map((link) => ({
				...link,
				source: places.get(link.source),
				target: places.get(link.target),
				count: link.chunks.length,
				chunks: [],
			})),
		chunks: [],
		mentions: [],
		questions: [],
		paths: [],
		cut: {},
	};
}

// The nearest node that way of another.
function nearest(nodes, from, [dx, dy]) {
	const far = (node) => {
		const [x, y] = [node.x - from.x, node.y - from.y];
		const along = x * dx + y * dy;
		const across = Math.abs(x * dy - y * dx);
		return along > 1 ? along + 2 * across : Infinity;
	};
	const [best] = nodes
		.filter((node) => node !== from && far(node) < Infinity)
		.sort((one, other) => far(one) - far(other));
	return best;
}

// Draws into a box. `choose` is told of the entity that a person opens, by its place in the neighbourhood.
export async function drawing(neighbourhood, choose) {
	await load();
	const { graphOf, stageOf, settle, followPointer, fitView, zoomAt } = globalThis;
	const graph = graphOf(dataOf(neighbourhood));
	const state = {
		selected: null,
		hovered: null,
		path: null,
		matches: null,
		hiddenKinds: new Set(),
		chunksShown: false,
	};
	const label = `${said.picture(graph.entities.length, graph.links.length)}. ${said.keys}`;
	const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": label });
	const legend = h(
		"ul",
		{ class: "legend" },
		graph.kinds.map((one) =>
			h("li", {}, h("span", { class: `dot kind-${one.colour}`, "aria-hidden": "true" }), one.name),
		),
	);
	const tip = h("p", { class: "tip", hidden: true, "aria-hidden": "true" });
	const middle = () => [stage.width / 2, stage.height / 2];
	const tools = h(
		"div",
		{ class: "stage-tools", role: "group" },
		button("+", () => zoomAt(stage, ...middle(), 1.4), { "aria-label": said.closer }),
		button("−", () => zoomAt(stage, ...middle(), 1 / 1.4), { "aria-label": said.farther }),
		button(said.fit, () => fitView(stage, stage.nodes())),
	);
	const element = h("div", { class: "stage" }, canvas, tip, legend, tools);
	const stage = stageOf(canvas, graph, state);

	function hover(node, spot) {
		if (state.hovered !== node) {
			state.hovered = node;
			canvas.classList.toggle("pointing", node?.type === "entity");
			stage.redraw();
		}
		tip.hidden = !node || !spot;
		if (tip.hidden) return;
		tip.textContent =
			node.type === "link"
				? `${node.source.label} — ${node.target.label}: ${said.link(node.count)}`
				: `${node.label} (${node.kind})`;
		tip.style.transform = `translate(${Math.max(8, Math.min(spot[0] + 14, stage.width - tip.offsetWidth - 8))}px, ${spot[1] + 16}px)`;
	}
	const open = (node) => node?.type === "entity" && choose(graph.entities.indexOf(node));

	canvas.addEventListener("keydown", (event) => {
		const [centre] = graph.centre;
		const from = state.hovered?.type === "entity" ? state.hovered : centre || graph.entities[0];
		if (event.key === "Enter") open(from);
		else if (event.key === "+" || event.key === "-") zoomAt(stage, ...middle(), event.key === "+" ? 1.4 : 1 / 1.4);
		else if (event.key in ARROWS) {
			const next = nearest(graph.entities, from, ARROWS[event.key]);
			if (next) {
				hover(next);
				say(`${next.label}, ${next.kind}`);
			}
		} else return;
		event.preventDefault();
	});
	canvas.addEventListener("blur", () => hover(null));
	// The wheel scrolls the page; with Ctrl, or two fingers, it zooms.
	element.addEventListener("wheel", (event) => event.ctrlKey || event.stopPropagation(), { capture: true });
	const scheme = matchMedia("(prefers-color-scheme: dark)");
	scheme.addEventListener("change", stage.readColours);
	const size = new ResizeObserver(() => {
		stage.resize();
		if (!stage.own) fitView(stage, stage.nodes(), true);
		stage.draw();
	});

	function begin() {
		stage.readColours();
		stage.resize();
		settle(graph, Math.max(1, stage.width - 120) / Math.max(1, stage.height - 112));
		fitView(stage, stage.nodes(), true);
		followPointer(stage, graph, state, { choose: open, hover });
		size.observe(element);
	}

	return {
		element,
		begin,
		colours: graph.entities.map((entity) => entity.colour),
		point: (at) => hover(at === null ? null : graph.entities[at]),
		leave() {
			size.disconnect();
			scheme.removeEventListener("change", stage.readColours);
		},
	};
}

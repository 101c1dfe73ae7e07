// The page: one state, and what changes it.

const find = (id) => document.getElementById(id);
const graph = graphOf(JSON.parse(find("data").textContent));
const state = { selected: null, hovered: null, path: null, matches: null, hiddenKinds: new Set(), chunksShown: false };
const stage = stageOf(find("canvas"), graph, state);
const panel = find("panel");
const everything = new Map(
	[...graph.entities, ...graph.chunks, ...graph.questions, ...graph.links, ...graph.paths].map((one) => [one.key, one]),
);
let listScroll = 0;

// Chooses an entity, a chunk, a link or a path; null goes back to the list.
function choose(one) {
	const before = state.path || state.selected;
	if (!one && !before) return;
	const inPanel = panel.contains(document.activeElement);
	if (!before && one) listScroll = panel.scrollTop;
	state.path = one?.type === "path" ? one : state.path?.stations.includes(one) ? state.path : null;
	state.selected = one?.type === "path" ? null : one;
	state.hovered = null;
	showTip(null);
	showPanel(one);
	if (one) find("heading").focus({ preventScroll: true });
	else panel.scrollTop = listScroll;
	if (!one && inPanel) panel.querySelector(`[data-key="${before.key}"]`)?.focus({ preventScroll: true });
	find("said").textContent = one ? `${one.label || "Path"} shown` : "All shown";
	bringIntoView(one);
	location.hash = one ? one.key : "";
	stage.redraw();
}

function showPanel(one) {
	panel.replaceChildren(...(one ? detailsOf(one, graph, choose) : overview(graph, choose)));
	panel.scrollTop = 0;
	if (!one && state.matches) filterList();
}

function bringIntoView(one) {
	if (!one) return;
	const nodes = one.type === "path" ? one.stations : one.type === "link" ? [one.source, one.target] : [one];
	const spots = nodes.map((node) => stage.screen(node));
	const seen = ([x, y]) => x > 30 && y > 30 && x < stage.width - 30 && y < stage.height - 30;
	if (spots.every(seen)) return;
	if (nodes.length > 1) fitView(stage, nodes);
	else moveView(stage, nodes[0].x, nodes[0].y, Math.max(stage.zoom, 0.7));
}

function hover(one, spot) {
	if (one !== state.hovered) {
		state.hovered = one;
		stage.canvas.classList.toggle("pointing", Boolean(one));
		stage.redraw();
	}
	showTip(one, spot);
}

function showTip(one, spot) {
	const tip = find("tip");
	tip.hidden = !one;
	if (!one) return;
	const title = one.type === "link" ? `${one.source.label} — ${one.target.label}` : one.label;
	tip.replaceChildren(
		element("strong", { dir: "auto" }, title),
		...tipLines(one).map((line) => element("p", { dir: "auto" }, line)),
	);
	const left = Math.min(spot[0] + 14, stage.width - tip.offsetWidth - 8);
	const below = spot[1] + 18 + tip.offsetHeight < stage.height;
	const top = below ? spot[1] + 18 : Math.max(8, spot[1] - tip.offsetHeight - 12);
	tip.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
}

function tipLines(one) {
	if (one.type === "entity")
		return [[one.kind, one.count ? `named in ${many(one.count, "chunk")}` : ""].filter(Boolean).join(" · ")];
	if (one.type === "chunk") return [placeOf(one), `${Array.from(one.text.slice(0, 400)).slice(0, 180).join("")}…`];
	if (one.type === "question") return ["the question"];
	return [one.description, one.keywords.join(" · "), `from ${many(one.count, "chunk")}`].filter(Boolean);
}

function search(text) {
	const wanted = text.trim().toLocaleLowerCase();
	const holds = (node) => [node.label, ...(node.names || [])].some((one) => one.toLocaleLowerCase().includes(wanted));
	state.matches = wanted ? new Set(graph.entities.filter(holds)) : null;
	if (wanted) choose(null);
	filterList();
	find("said").textContent = state.matches ? `${state.matches.size} found` : "";
	stage.redraw();
}

function filterList() {
	for (const row of panel.querySelectorAll("#entities [data-key]")) {
		row.parentElement.hidden = Boolean(state.matches) && !state.matches.has(everything.get(row.dataset.key));
	}
}

function showLegend() {
	find("legend").replaceChildren(
		...graph.kinds.map((kind) => {
			const row = button(
				{ class: "chip", "aria-pressed": "true" },
				() => {
					const hidden = !state.hiddenKinds.delete(kind.kind) && Boolean(state.hiddenKinds.add(kind.kind));
					row.setAttribute("aria-pressed", String(!hidden));
					stage.redraw();
				},
				mark({ type: "entity", colour: kind.colour }),
				name(kind.name),
				element("span", { class: "note" }, `${kind.count}`),
			);
			return element("li", {}, row);
		}),
	);
}

function showChunks(shown) {
	state.chunksShown = shown;
	find("chunks").setAttribute("aria-pressed", String(shown));
	stage.redraw();
}

function showSummary() {
	const counts = [
		many(graph.entities.length, "entity"),
		many(graph.links.length, "link"),
		many(graph.chunks.length, "chunk"),
	];
	if (graph.paths.length) counts.push(many(graph.paths.length, "path"));
	find("summary").textContent = counts.join(" · ");
	find("canvas").setAttribute(
		"aria-label",
		`A picture of ${counts.join(", ")}. The list next to it says the same in words.`,
	);
}

function fitAll(still = false) {
	const shown = stage.nodes();
	stage.own = false;
	fitView(stage, shown.length ? shown : graph.entities, still);
}

function listen() {
	const middle = () => [stage.width / 2, stage.height / 2];
	find("closer").addEventListener("click", () => zoomAt(stage, ...middle(), 1.4));
	find("farther").addEventListener("click", () => zoomAt(stage, ...middle(), 1 / 1.4));
	find("fit").addEventListener("click", () => fitAll());
	find("chunks").addEventListener("click", () => showChunks(!state.chunksShown));
	find("chunks").hidden = !graph.chunks.length;
	find("search").addEventListener("input", (event) => search(event.target.value));
	find("search").addEventListener("keydown", (event) => {
		const [first] = state.matches || [];
		if (event.key === "Enter" && first) choose(first);
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "Escape") choose(null);
		if (event.key === "/" && document.activeElement !== find("search")) {
			event.preventDefault();
			find("search").focus();
		}
	});
	window.addEventListener("hashchange", showAddressed);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", stage.readColours);
	new ResizeObserver(() => {
		stage.resize();
		if (!stage.own) fitAll(true);
		stage.draw(); // at once: a new size has wiped the canvas
	}).observe(find("stage"));
	followPointer(stage, graph, state, { choose, hover });
	walkWithArrows(panel);
}

// The address names what is chosen (#entity-3), so that back, forward and bookmarks work.
function showAddressed() {
	const wanted = everything.get(location.hash.slice(1)) || null;
	if (wanted !== (state.path && !state.selected ? state.path : state.selected)) choose(wanted);
}

stage.readColours();
stage.resize();
settle(graph, Math.max(1, stage.width - 120) / Math.max(1, stage.height - 112));
showSummary();
showLegend();
showPanel(null);
fitAll(true);
listen();
showAddressed();

// The list beside the picture: paths, entities and chunks, for eyes and for keys.

// Children that are texts become text nodes: nothing from a file is ever read as HTML.
function element(tag, attributes, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
	made.append(...children.flat().filter((child) => child !== null && child !== undefined));
	return made;
}

function button(attributes, press, ...children) {
	const made = element("button", { type: "button", ...attributes }, ...children);
	made.addEventListener("click", press);
	return made;
}

// Text from a file, kept apart from its surroundings whichever way it runs.
function name(text, attributes = {}) {
	return element("bdi", { dir: "auto", ...attributes }, text);
}

function many(count, what) {
	return `${count.toLocaleString("en")} ${count === 1 ? what : what.replace(/y$/, "ie") + "s"}`;
}

function mark(node) {
	const look = node.type === "entity" ? `disc kind-${node.colour}` : node.type;
	return element("span", { class: `mark ${look}`, "aria-hidden": "true" });
}

function nodeButton(node, choose, note) {
	const kind = node.type === "entity" ? node.kind : node.type;
	return button(
		{ class: "row", "data-key": node.key },
		() => choose(node),
		mark(node),
		name(node.label, { class: "label" }),
		element("span", { class: "note" }, note ?? kind),
	);
}

function overview(graph, choose) {
	return [
		graph.paths.length ? pathSection(graph, choose) : null,
		section(
			many(graph.entities.length, "entity"),
			"entities",
			graph.entities.map((entity) => nodeButton(entity, choose, entity.count ? `${entity.count}` : "")),
			"in chunks",
		),
		graph.chunks.length
			? section(
					many(graph.chunks.length, "chunk"),
					"chunk-list",
					graph.chunks.map((chunk) => nodeButton(chunk, choose, chunk.name ? "" : beginning(chunk))),
				)
			: null,
		leftOut(graph.cut),
	].filter(Boolean);
}

function leftOut(cut) {
	const said = Object.entries(cut)
		.filter(([, count]) => count > 0)
		.map(([what, count]) => many(count, what));
	return said.length
		? element("p", { class: "muted left-out" }, `${said.join(", ")} left out to keep this readable.`)
		: null;
}

function beginning(chunk) {
	return Array.from(chunk.text.slice(0, 80)).slice(0, 40).join("");
}

function section(heading, id, rows, unit = "") {
	const list = element(
		"ul",
		{ id, class: "rows" },
		rows.map((row) => element("li", {}, row)),
	);
	return element(
		"section",
		{},
		element("h2", {}, heading, unit ? element("span", { class: "note" }, unit) : null),
		list,
	);
}

function pathSection(graph, choose) {
	const rows = graph.paths.map((path) => element("li", {}, pathButton(path, choose)));
	return element(
		"section",
		{},
		element("h2", {}, many(graph.paths.length, "path")),
		element("ol", { id: "paths", class: "rows" }, rows),
	);
}

function pathButton(path, choose) {
	const made = button({ class: "path", "data-key": path.key }, () => choose(path), stationsOf(path), bar(path.share));
	made.append(element("span", { class: "note" }, path.share.toFixed(2)));
	return made;
}

function stationsOf(path) {
	const parts = path.stations.flatMap((station, place) => {
		const shown = station.type === "question" ? "question" : station.label;
		const made = element("span", { class: "station" }, mark(station), name(shown, { class: "label" }));
		return place ? [element("span", { class: "arrow" }, "→"), made] : [made];
	});
	return element("span", { class: "stations" }, parts);
}

function bar(share) {
	const full = element("span", { class: "full" });
	full.style.width = `${Math.round(100 * Math.min(1, Math.max(0.02, share)))}%`;
	return element("span", { class: "bar", "aria-hidden": "true" }, full);
}

// Up and down move between the rows of a list, as Tab does.
function walkWithArrows(panel) {
	panel.addEventListener("keydown", (event) => {
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
		const rows = [...panel.querySelectorAll("button")].filter((row) => row.offsetParent !== null);
		const next = rows[rows.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
		if (!next) return;
		event.preventDefault();
		next.focus();
	});
}

// The way through the graph that led to a hit, as a small picture: stations on a line, which goes on below where it is
// full.

import { h, svg } from "./dom.js";

const ROW = 30;
const GAP = 26; // between two stations: the arrow
const SIGN = 18; // a station's own sign
const LONGEST = 30; // characters
const FONT = '13px "Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
let pen = null;

function widthOf(text) {
	pen ??= document.createElement("canvas").getContext("2d");
	pen.font = FONT;
	return pen.measureText(text).width;
}

function shortened(text) {
	const signs = Array.from(text.replace(/\s+/g, " ").slice(0, 4 * LONGEST));
	return signs.length > LONGEST
		? `${signs
				.slice(0, LONGEST - 1)
				.join("")
				.trimEnd()}…`
		: signs.join("");
}

// Stations with the places where they stand, in rows no wider than `width`.
function placed(nodes, width) {
	let x = 2;
	let y = ROW / 2;
	return nodes.map((node, at) => {
		const label = shortened(node.name);
		const wide = SIGN + widthOf(label);
		let turned = false;
		if (at && x + GAP + wide > width) {
			x = GAP;
			y += ROW;
			turned = true;
		} else if (at) x += GAP;
		const one = { kind: node.kind, label, x, y, turned };
		x += wide;
		return one;
	});
}

function sign({ kind, x, y }) {
	if (kind === "chunk") return svg("rect", { class: "chunk", x, y: y - 5, width: 10, height: 10, rx: 2 });
	return svg("circle", { class: kind, cx: x + 5, cy: y, r: kind === "question" ? 4.5 : 5 });
}

function arrow({ x, y }) {
	const from = x - GAP + 6;
	return svg("path", { class: "way", d: `M${from} ${y}H${x - 6}m-4 -3l4 3l-4 3` });
}

// `words` says the same to those who do not see it.
export function pathPicture(nodes, words, width) {
	const stations = placed(nodes, Math.max(160, width));
	const height = stations.at(-1).y + ROW / 2;
	const parts = stations.map((one, at) => [
		at ? arrow(one) : null,
		sign(one),
		svg("text", { x: one.x + SIGN - 4, y: one.y + 4.5 }, one.label),
	]);
	const title = svg("title", {}, words);
	return h(
		"div",
		{ class: "path" },
		svg("svg", { role: "img", width, height, viewBox: `0 0 ${width} ${height}` }, title, parts),
	);
}

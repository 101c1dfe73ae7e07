// Mouse, pen, fingers and keys on the canvas: moving the view, moving nodes, choosing what is under the pointer.

const CLICK_PIXELS = 5;

function followPointer(stage, graph, state, { choose, hover }) {
	const { canvas } = stage;
	const fingers = new Map();
	let held = null;
	let moved = 0;

	function spot(event) {
		const box = canvas.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top];
	}

	function under(event) {
		const [x, y] = spot(event);
		const slack = event.pointerType === "touch" ? 14 : 4;
		const reach = (node) => Math.hypot(stage.screen(node)[0] - x, stage.screen(node)[1] - y) - stage.size(node);
		const [node] = stage
			.nodes()
			.filter((one) => reach(one) < slack)
			.sort((one, other) => reach(one) - reach(other));
		if (node) return node;
		const links = stage.edges().filter((edge) => edge.type === "link");
		const far = (link) => distance(x, y, stage.screen(link.source), stage.screen(link.target));
		return links.filter((link) => far(link) < slack + 1).sort((one, other) => far(one) - far(other))[0] || null;
	}

	canvas.addEventListener("pointerdown", (event) => {
		canvas.setPointerCapture(event.pointerId);
		fingers.set(event.pointerId, spot(event));
		const found = under(event);
		held = fingers.size === 1 && found && found.type !== "link" ? found : null;
		moved = fingers.size > 1 ? Infinity : 0;
		hover(null);
	});

	canvas.addEventListener("pointermove", (event) => {
		const last = fingers.get(event.pointerId);
		const here = spot(event);
		if (!last) {
			if (event.pointerType !== "touch") hover(under(event), here);
			return;
		}
		const [dx, dy] = [here[0] - last[0], here[1] - last[1]];
		moved += Math.abs(dx) + Math.abs(dy);
		if (fingers.size === 2) pinch(event.pointerId, here);
		else if (held && moved > CLICK_PIXELS)
			Object.assign(held, { x: held.x + dx / stage.zoom, y: held.y + dy / stage.zoom });
		else if (!held) Object.assign(stage, { own: true, x: stage.x - dx / stage.zoom, y: stage.y - dy / stage.zoom });
		fingers.set(event.pointerId, here);
		stage.redraw();
	});

	function pinch(id, here) {
		const [other] = [...fingers].filter(([one]) => one !== id).map(([, place]) => place);
		const before = fingers.get(id);
		const apart = Math.hypot(here[0] - other[0], here[1] - other[1]);
		const factor = apart / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
		zoomAt(stage, (here[0] + other[0]) / 2, (here[1] + other[1]) / 2, factor);
		stage.x -= (here[0] - before[0]) / 2 / stage.zoom;
		stage.y -= (here[1] - before[1]) / 2 / stage.zoom;
	}

	function release(event) {
		const alone = fingers.size === 1;
		fingers.delete(event.pointerId);
		if (event.type === "pointerup" && alone && moved <= CLICK_PIXELS) choose(under(event));
		held = null;
	}
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", () => hover(null));
	canvas.addEventListener(
		"wheel",
		(event) => {
			event.preventDefault();
			zoomAt(stage, ...spot(event), Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)));
			hover(null);
		},
		{ passive: false },
	);
}

function zoomAt(stage, x, y, factor) {
	const [fixedX, fixedY] = stage.world(x, y);
	stage.own = true; // people moved it: a change of size leaves it alone
	stage.zoom = Math.min(6, Math.max(0.08, stage.zoom * factor));
	const [movedX, movedY] = stage.world(x, y);
	stage.x += fixedX - movedX;
	stage.y += fixedY - movedY;
	stage.redraw();
}

function fitView(stage, nodes, still = false) {
	if (!nodes.length) return;
	const xs = nodes.map((node) => node.x);
	const ys = nodes.map((node) => node.y);
	const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
	const narrow = stage.width < 500;
	const [side, above, below] = [narrow ? 30 : 72, narrow ? 66 : 40, 72]; // room for labels, tools and legend
	const across = (stage.width - 2 * side) / Math.max(1, right - left);
	const down = (stage.height - above - below) / Math.max(1, bottom - top);
	const zoom = Math.max(0.08, Math.min(1.5, across, down));
	moveView(stage, (left + right) / 2, (top + bottom) / 2 + (below - above) / 2 / zoom, zoom, still);
}

// Glides there, or is there at once for people who want less motion.
function moveView(stage, x, y, zoom, still = false) {
	const from = { x: stage.x, y: stage.y, zoom: stage.zoom };
	const began = performance.now();
	const length = still || matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 280;
	const mine = (stage.moving || 0) + 1;
	stage.moving = mine;
	const step = (now) => {
		if (stage.moving !== mine) return; // another move has begun
		const part = length ? Math.min(1, Math.max(0, now - began) / length) : 1;
		const eased = 1 - (1 - part) ** 3;
		stage.x = from.x + (x - from.x) * eased;
		stage.y = from.y + (y - from.y) * eased;
		stage.zoom = from.zoom + (zoom - from.zoom) * eased;
		stage.redraw();
		if (part < 1) requestAnimationFrame(step);
	};
	step(began);
}

function distance(x, y, [x1, y1], [x2, y2]) {
	const [dx, dy] = [x2 - x1, y2 - y1];
	const along = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
	return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}

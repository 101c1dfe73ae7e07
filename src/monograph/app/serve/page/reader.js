// A document's text, a part at a time: it opens at what is marked, and grows where one reads on.

import { get } from "./api.js";
import { button, h } from "./dom.js";
import { shownBlock, spanOf } from "./pieces.js";
import { words } from "./words.js";

const BEFORE = 5000; // characters above what is marked
const PART = 20000;
const NEAR = 3000; // pixels

// The text of a document.
//   asked     {file, id, mark: ["17-22"], q, at}: what is shown, marked, and where it opens
//   scroller  the element that scrolls, or null for the window
export function readerOf({ file, id, mark = [], q = "", at = null }, scroller = null) {
	const spans = mark.map(spanOf);
	const opensAt = at ?? (spans.length ? Math.min(...spans.map(([start]) => start)) : 0);
	const text = h("div", { class: "text" });
	const earlier = button(words.source.earlier, () => grow(-1), { class: "plain more", hidden: true });
	const later = button(words.source.later, () => grow(1), { class: "plain more", hidden: true });
	const element = h("div", { class: "reading" }, earlier, text, later);
	const part = { start: 0, end: 0, characters: 0 };
	let growing = false;
	let watch = null;

	const asked = (start, length) => get("/document/text", { file, id, mark, q, start, length });

	function showEnds() {
		earlier.hidden = part.start <= 0;
		later.hidden = part.end >= part.characters;
	}

	async function load() {
		const from = Math.max(0, opensAt - BEFORE);
		const found = await asked(from, PART + opensAt - from);
		Object.assign(part, { start: found.start, end: found.end, characters: found.characters });
		text.replaceChildren(...found.blocks.map(shownBlock));
		showEnds();
		return found;
	}

	async function grow(way) {
		if (growing) return;
		growing = true;
		try {
			if (way > 0) await growDown();
			else await growUp();
			showEnds();
		} finally {
			growing = false;
		}
	}

	async function growDown() {
		if (part.end >= part.characters) return;
		const found = await asked(part.end, PART);
		text.append(...found.blocks.filter((block) => block.start >= part.end).map(shownBlock));
		part.end = Math.max(found.end, part.end + 1);
	}

	async function growUp() {
		if (part.start <= 0) return;
		const from = Math.max(0, part.start - PART);
		// Up to the paragraph before: the next one stands here already.
		const found = await asked(from, Math.max(1, part.start - from - 2));
		const blocks = found.blocks.filter((block) => block.start < part.start).map(shownBlock);
		const box = scroller || document.scrollingElement;
		const below = box.scrollHeight - box.scrollTop;
		text.prepend(...blocks);
		part.start = Math.min(found.start, part.start - 1);
		box.scrollTop = box.scrollHeight - below; // what is read stays where it is
	}

	// To what is marked first, or to where it was asked to open.
	function reveal() {
		const marked = text.querySelector("mark.cited");
		const block = [...text.children].findLast((one) => Number(one.dataset.at) <= opensAt);
		const target = marked || (opensAt ? block : null);
		const box = scroller || document.scrollingElement;
		if (!target) {
			box.scrollTop = 0;
		} else {
			const top = target.getBoundingClientRect().top - (scroller ? scroller.getBoundingClientRect().top : 0);
			const height = scroller ? scroller.clientHeight : window.innerHeight;
			box.scrollTop += top - height / 3;
		}
		follow();
	}

	// Grows by itself where one comes near its end.
	function follow() {
		watch?.disconnect();
		const options = { root: scroller, rootMargin: `${NEAR / 3}px 0px ${NEAR}px` };
		watch = new IntersectionObserver((entries) => {
			if (!entries.some((entry) => entry.isIntersecting)) return;
			watch.unobserve(later);
			grow(1).finally(() => watch.observe(later));
		}, options);
		watch.observe(later);
	}

	return {
		element,
		load,
		reveal,
		marks: () => [...text.querySelectorAll("mark.cited")],
		leave: () => watch?.disconnect(),
	};
}

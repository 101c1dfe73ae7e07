// A page of a PDF as a picture, with a box where the marked passage stands.

import { address, get } from "./api.js";
import { fill, h, link, svg } from "./dom.js";
import { spanOf } from "./pieces.js";
import { changed } from "./place.js";
import { words } from "./words.js";

const said = words.document;
const WIDTH = 1400; // pixels of the picture: sharp on screens of two pixels each

export async function pageOf(box, { place, asked, source, title }) {
	const pages = source?.pages || 0;
	const marks = (place.mark || []).map(spanOf);
	const found = marks.length ? await boxesOf(asked, marks[0], place.page) : null;
	const page = Math.min(Math.max(1, Number(place.page) || found?.page || 1), Math.max(1, pages));
	const picture = h("img", {
		src: address("/document/page", { ...asked, page, width: WIDTH }),
		alt: said.pagePicture(page, title),
	});
	const here = found && found.page === page && found.found ? found.boxes : [];
	const share = (value) => `${100 * value}%`;
	const boxes = here.map((one) =>
		svg("rect", {
			class: "box",
			x: share(one.left),
			y: share(one.top),
			width: share(one.right - one.left),
			height: share(one.bottom - one.top),
		}),
	);
	const overlay = svg("svg", { class: "boxes", "aria-hidden": "true" }, boxes);
	const step = (to, label) => (to >= 1 && to <= pages ? link(changed({ page: to }), { class: "button" }, label) : null);
	fill(
		box,
		h(
			"p",
			{ class: "buttons" },
			step(page - 1, said.pageBefore),
			h("span", {}, said.page(page, pages)),
			step(page + 1, said.pageNext),
		),
		marks.length ? h("p", { class: "note" }, here.length ? said.boxed : said.unboxed) : null,
		h("figure", { class: "leaf" }, picture, overlay),
	);
	await picture.decode().catch(() => {});
	if (here.length) {
		requestAnimationFrame(() => {
			const top = picture.getBoundingClientRect().top + window.scrollY + here[0].top * picture.clientHeight;
			window.scrollTo(0, Math.max(0, top - window.innerHeight / 3));
		});
	}
	return { own: here.length > 0 };
}

async function boxesOf(asked, [start, end], page) {
	return get("/document/boxes", { ...asked, start, end, page }).catch(() => null);
}

// Elements out of names, attributes and children. Children that are texts become text nodes: nothing from a file is
// ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

const there = (children) =>
	children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

function filled(made, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
		else made.setAttribute(name, value === true ? "" : value);
	}
	made.append(...there(children));
	return made;
}

export function h(tag, attributes = {}, ...children) {
	return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
	return filled(document.createElementNS(SVG, tag), attributes, children);
}

// Text from a file, kept apart from its surroundings whichever way it runs.
export function own(text, attributes = {}) {
	return h("bdi", { dir: "auto", ...attributes }, text);
}

export function button(label, press, attributes = {}) {
	return h("button", { type: "button", onclick: press, ...attributes }, label);
}

export function link(address, attributes, ...children) {
	return h("a", { href: address, ...attributes }, ...children);
}

// A heading that takes the focus when its page is shown.
export function heading(level, text, attributes = {}) {
	return h(`h${level}`, { tabindex: "-1", dir: "auto", ...attributes }, text);
}

export function fill(box, ...children) {
	box.replaceChildren(...there(children));
	return box;
}

// Tells those who do not see it what has happened.
export function say(text) {
	document.getElementById("said").textContent = text;
}

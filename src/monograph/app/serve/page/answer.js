// An answer as it is shown: its text with links for numbers, its sources, and what the model was given.

import { sourceLink } from "./beside.js";
import { h, own } from "./dom.js";
import { markOf } from "./pieces.js";
import { many, seconds, words } from "./words.js";

const said = words.ask;
const NUMBERS = /\[(\d+(?:\s*,\s*\d+)*)\]/;
const QUOTED = 320; // characters

// What is shown while an answer is being written.
export function beginAnswer() {
	const text = h("p", { class: "answer", dir: "auto" });
	const state = h("p", { class: "note writing" }, said.looking);
	const element = h("div", { class: "streaming", "aria-busy": "true" }, text, state);
	return {
		element,
		add(piece) {
			text.append(piece);
			state.textContent = said.writing;
		},
		end() {
			state.remove();
			element.removeAttribute("aria-busy");
		},
	};
}

export function nameOf(citation) {
	return citation.title.trim() || citation.uri.split("/").filter(Boolean).at(-1) || said.summary;
}

// A link that opens a citation's source at exactly its spans; text alone where no document has it.
function spansLink(file, spans, attributes, ...children) {
	const [first] = spans;
	if (!first) return h("span", attributes, children);
	const mark = spans
		.filter((span) => span.document_id === first.document_id)
		.map((span) => markOf(span.start, span.end));
	return sourceLink(file, { id: first.document_id, mark }, attributes, children);
}

// The text, in which [1] and [1, 2] are links.
function cited(text, citations, file) {
	const known = new Map(citations.map((one) => [one.number, one]));
	return text.split(new RegExp(NUMBERS, "g")).flatMap((part, at) => {
		if (at % 2 === 0) return [part];
		return part.split(/\s*,\s*/).map((number) => {
			const one = known.get(Number(number));
			if (!one) return `[${number}]`;
			return spansLink(file, one.spans, { class: "cite", "aria-label": said.open(number, nameOf(one)) }, `[${number}]`);
		});
	});
}

export function answerOf(answer, file) {
	const { context } = answer;
	const parts = [];
	if (answer.query && answer.query !== context.question)
		parts.push(h("p", { class: "note" }, own(said.searched(answer.query))));
	if (answer.abstained) {
		parts.push(h("p", { class: "abstained" }, said.abstained));
		if (context.citations.length) parts.push(h("p", { class: "note" }, said.abstainedMore));
		parts.push(citationList(context.citations, file, true));
	} else if (answer.model) {
		parts.push(h("p", { class: "answer", dir: "auto" }, cited(answer.text, context.citations, file)));
		if (answer.unknown.length) parts.push(h("p", { class: "doubt" }, said.unknown(answer.unknown.join(", "))));
		parts.push(citationList(answer.citations, file, false));
	} else parts.push(...passagesOf(answer, file));
	parts.push(factsOf(answer), given(answer));
	return parts.filter(Boolean);
}

// Without a model: the sentence that is most likely to answer, and the passages.
function passagesOf(answer, file) {
	const { best } = answer.context;
	const sentence = best && [
		h("h3", { class: "label" }, said.best),
		h("p", { class: "answer", dir: "auto" }, spansLink(file, [best.span], { class: "best" }, withWithin(best))),
		h("p", { class: "note" }, own(best.title || best.uri)),
	];
	const passages = answer.citations.length
		? [h("h3", { class: "label" }, said.passages), citationList(answer.citations, file, true)]
		: [];
	return [...(sentence || []), ...passages];
}

// Offsets count characters, of which JavaScript would make two at times.
function withWithin({ span, within }) {
	if (!within) return [span.text];
	const signs = Array.from(span.text);
	const [from, to] = [within.start - span.start, within.end - span.start];
	return [
		signs.slice(0, from).join(""),
		h("b", { class: "word" }, signs.slice(from, to).join("")),
		signs.slice(to).join(""),
	];
}

function citationList(citations, file, quoted) {
	if (!citations.length) return null;
	const items = citations.map((one) => {
		const extra = one.summary ? said.summary : one.page ? said.page(one.page) : "";
		const title = [h("span", { class: "number" }, `[${one.number}] `), own(nameOf(one)), extra ? ` (${extra})` : null];
		return h(
			"li",
			{},
			spansLink(file, one.spans, { "data-stop": "" }, title),
			quoted
				? h(
						"p",
						{ class: "quote", dir: "auto" },
						Array.from(one.text).slice(0, QUOTED).join(""),
						one.text.length > QUOTED ? " …" : null,
					)
				: null,
		);
	});
	return h("ul", { class: `citations ${quoted ? "quoted" : "short"}`, "aria-label": said.citations }, items);
}

function factsOf({ seconds: took, model, cached, context, abstained }) {
	const times = model
		? cached
			? said.cached
			: said.tookModel(seconds(took.first_token), seconds(took.first_token + took.generation))
		: said.took(seconds(took.retrieval + took.reduction));
	return h("p", { class: "note" }, `${abstained ? "" : `${said.confidence(context.relevance)} · `}${times}`);
}

function given({ context, model }) {
	if (!context.text) return null;
	return h(
		"details",
		{ class: "given" },
		h("summary", {}, model ? said.given : said.givenLess, ` (${many(context.citations.length, "passage")})`),
		h("p", { class: "note" }, said.tokens(context.tokens, context.budget, context.tokens_found)),
		h("pre", { dir: "auto", tabindex: "0" }, context.text),
	);
}

// Questions and answers: streamed, cited, and kept in this tab alone.

import { events, Fault } from "./api.js";
import { answerOf, beginAnswer } from "./answer.js";
import { besideOf, isWide, openedAt, relink } from "./beside.js";
import { button, fill, h, heading, link, say } from "./dom.js";
import { trouble } from "./fault.js";
import { changed, go, here, to } from "./place.js";
import { words } from "./words.js";

const said = words.ask;
const KEPT = "talk:";

// A conversation is known by its file and its first question, which the address has.
const keyOf = ({ file = "", q = "" }) => `${KEPT}${file}\n${q}`;

function kept(place) {
	try {
		return JSON.parse(sessionStorage.getItem(keyOf(place))) || [];
	} catch {
		return [];
	}
}

function keep(place, turns) {
	const slim = turns.map(({ question, answer }) => ({
		question,
		answer: answer && { ...answer, context: { ...answer.context, hits: [] } },
	}));
	try {
		sessionStorage.setItem(keyOf(place), JSON.stringify(slim));
	} catch {
		sessionStorage.removeItem(keyOf(place)); // there is no room: it is shown, and not kept
	}
}

// What the server is told of the turns before.
const historyOf = (turns) =>
	turns
		.filter((turn) => turn.answer)
		.map(({ question, answer }) => ({
			question,
			answer: answer.text,
			query: answer.query,
			title: answer.context.citations[0]?.title || "",
		}));

export async function show(box, { place, serving, file }) {
	const list = h("ol", { class: "turns" });
	const beside = besideOf();
	const form = questionForm(submit, stop);
	const model = serving.model ? said.model(serving.model) : said.modelLess;
	const anew = link(to("/ask", { file: place.file }), { class: "anew" }, said.anew);
	const notes = h("p", { class: "note" }, model, " · ", said.kept);
	let shown = null; // the key of the conversation that is shown
	let turns = [];
	let running = null;

	fill(
		box,
		h(
			"div",
			{ class: "pair" },
			h(
				"div",
				{ class: "talk" },
				h("header", { class: "talk-head" }, heading(1, said.title), anew),
				notes,
				list,
				form.element,
			),
			beside.element,
		),
	);

	function submit(question) {
		if (shown === keyOf({}) || !here().q) go(changed({ q: question }));
		else ask(question);
	}

	function stop() {
		running?.abort();
	}

	function open(where) {
		running?.abort();
		shown = keyOf(where.q ? where : {});
		turns = where.q ? kept(where) : [];
		fill(list);
		form.set(turns.length > 0);
		anew.hidden = !where.q;
		if (!where.q) return;
		if (!turns.length) ask(where.q);
		else turns.forEach(showTurn);
	}

	function showTurn(turn) {
		const item = h("li", { class: "turn" }, h("h2", { dir: "auto" }, turn.question));
		list.append(item);
		if (turn.answer) item.append(...answerOf(turn.answer, file.name));
		else item.append(broken(turn, item));
		return item;
	}

	function broken(turn, item, error = null) {
		const again = () => {
			turns = turns.filter((one) => one !== turn);
			item.remove();
			ask(turn.question);
		};
		if (error) return trouble(error, again);
		return h("p", { class: "doubt" }, said.cut, " ", button(words.fault.again, again, { class: "plain" }));
	}

	async function ask(question) {
		running?.abort();
		running = new AbortController();
		const { signal } = running;
		const asked = here();
		const turn = { question, answer: null };
		const history = historyOf(turns);
		turns.push(turn);
		keep(asked, turns);
		const item = h("li", { class: "turn" }, h("h2", { dir: "auto" }, question));
		const writing = beginAnswer();
		item.append(writing.element);
		list.append(item);
		form.set(true, true);
		item.scrollIntoView({ block: turns.length > 1 ? "start" : "nearest" });
		try {
			turn.answer = await streamed(
				{ q: question, history, file: file.name, how: asked.how, where: asked.where },
				signal,
				writing.add,
			);
			writing.element.replaceWith(...answerOf(turn.answer, file.name));
			keep(asked, turns);
			say(turn.answer.abstained ? said.abstained : turn.answer.text.slice(0, 600));
		} catch (error) {
			if (!item.isConnected) return;
			writing.end();
			item.append(broken(turn, item, error.name === "AbortError" ? null : error));
			say(said.cut);
		} finally {
			if (running?.signal === signal) {
				running = null;
				form.set(true);
			}
		}
	}

	async function follow(where, focus) {
		if (shown !== keyOf(where.q ? where : {})) open(where);
		const chosen = openedAt(where);
		box.classList.toggle("source-open", Boolean(chosen));
		relink(list, chosen);
		await beside.show(chosen, { focus: focus && Boolean(chosen) });
	}

	await follow(place, false);
	return {
		update(where) {
			if (where.file !== place.file) return false;
			const source = openedAt(where);
			if (source && !isWide()) window.scrollTo(0, 0);
			follow(where, true);
			return true;
		},
		leave() {
			running?.abort();
			beside.leave();
		},
	};
}

async function streamed(body, signal, add) {
	let whole = null;
	for await (const { event, data } of events("/chat", { body, signal })) {
		if (event === "piece") add(data.text);
		else if (event === "answer") whole = data;
		else if (event === "error") throw new Fault(data, 502);
	}
	if (!whole) throw new Fault({ error: said.cut }, 0);
	return whole;
}

function questionForm(submit, stop) {
	const box = h("textarea", {
		id: "question",
		rows: "1",
		"data-first": "",
		"aria-label": said.box,
		placeholder: said.hint,
		dir: "auto",
	});
	const press = button(said.press, null, { type: "submit", class: "main" });
	const halt = button(said.stop, stop, { hidden: true });
	const grow = () => {
		box.rows = Math.min(6, box.value.split("\n").length);
	};
	const send = (event) => {
		event.preventDefault();
		const question = box.value.trim();
		if (!question || press.disabled) return;
		box.value = "";
		grow();
		submit(question);
	};
	box.addEventListener("input", grow);
	box.addEventListener("keydown", (event) => {
		if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
	});
	function set(further, busy = false) {
		box.placeholder = further ? said.follow : said.hint;
		press.disabled = busy;
		halt.hidden = !busy;
	}
	return { element: h("form", { class: "question-form", onsubmit: send }, box, press, halt), set };
}

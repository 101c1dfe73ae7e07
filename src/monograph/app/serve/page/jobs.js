// Work that goes on by itself on the server: how far it is, what came of it. A page that is loaded again finds it there.

import { events, Fault, get, remove } from "./api.js";
import { button, fill, h, own, say } from "./dom.js";
import { trouble } from "./fault.js";
import { bytes, count, many, seconds, when, words } from "./words.js";

const said = words.sources;
const LISTED = 30; // changes and problems of a job

// A job once it has ended.
export async function ended(job, told = () => {}) {
	let last = job;
	for await (const { event, data } of events("/job/events", { parameters: { id: job.id } })) {
		if (event !== "job") continue;
		last = data;
		told(last);
	}
	return last;
}

export function faultOf(job) {
	return job.error ? new Fault(job.error, 500) : null;
}

// A job as an item of a list, which follows it until it has ended.
export function jobItem(job, after = () => {}) {
	const item = h("li", { class: "job" });
	const show = (one) => fill(item, headOf(one), one.ended ? outcomeOf(one) : progressOf(one));
	show(job);
	if (!job.ended) {
		ended(job, show)
			.then((last) => {
				say(`${said.kinds[last.kind]}: ${said.states[last.state]}`);
				after(last);
			})
			.catch((error) => item.append(trouble(error)));
	} else if (job.state === "done" && !job.plan && !job.report) {
		get("/job", { id: job.id }).then(show, () => {});
	}
	return item;
}

function headOf(job) {
	return h(
		"h3",
		{},
		said.kinds[job.kind] || job.kind,
		h("span", { class: `state ${job.state}` }, said.states[job.state]),
		h("span", { class: "note" }, when(job.ended || job.created)),
	);
}

function progressOf(job) {
	const now = job.progress;
	const stop = (event) => {
		event.target.disabled = true;
		remove("/job", { id: job.id }).catch((error) => say(error.message));
	};
	const bar = h("progress", {
		max: now?.total || 1,
		"aria-label": now?.phase || said.states.waiting,
		value: now?.total ? now.done : null,
	});
	const facts = now
		? [
				now.phase,
				now.total ? `${count(now.done)} of ${many(now.total, now.unit.replace(/s$/, ""))}` : "",
				now.total_bytes ? `${bytes(now.read_bytes)} of ${bytes(now.total_bytes)}` : "",
			]
		: [];
	return [
		bar,
		h("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
		now?.item ? h("p", { class: "note item" }, own(now.item)) : null,
		button(said.stop, stop, { class: "plain" }),
	];
}

function outcomeOf(job) {
	const fault = faultOf(job);
	if (fault) return trouble(fault);
	if (job.plan) return planOf(job.plan);
	if (job.report) return reportOf(job.report);
	return null;
}

function planOf({ changes, problems, cost }) {
	const real = changes.filter((one) => one.kind !== "same");
	const counts = Object.entries(said.changes)
		.map(([kind, name]) => [changes.filter((one) => one.kind === kind).length, name])
		.filter(([value]) => value)
		.map(([value, name]) => `${count(value)} ${name}`);
	const price = cost
		? Object.entries(said.costs)
				.filter(([key]) => cost[key])
				.map(([key, name]) => name(cost[key]))
		: [];
	return [
		h("p", {}, real.length ? counts.join(", ") : said.nothing),
		price.length ? h("p", { class: "price" }, `${said.price}: `, price.join(", ")) : null,
		cost && !cost.model_calls ? h("p", { class: "note" }, said.free) : null,
		real.length
			? h(
					"ul",
					{ class: "changes" },
					real
						.slice(0, LISTED)
						.map((one) =>
							h(
								"li",
								{},
								h("span", { class: "tag" }, said.changes[one.kind]),
								own(one.uri),
								h("span", { class: "note" }, bytes(one.size)),
							),
						),
					real.length > LISTED ? h("li", { class: "note" }, `… ${count(real.length - LISTED)}`) : null,
				)
			: null,
		problemList(problems),
	];
}

function reportOf(report) {
	const counts = Object.entries(said.report)
		.filter(([key]) => report[key])
		.map(([key, name]) => `${count(report[key])} ${name}`);
	return [
		h(
			"p",
			{},
			counts.join(", ") || said.nothing,
			" ",
			h("span", { class: "note" }, said.took(seconds(report.seconds))),
		),
		problemList(report.problems),
	];
}

export function problemList(problems) {
	if (!problems.length) return null;
	const row = (one) =>
		h(
			"li",
			{},
			h("p", { class: "what" }, own(one.uri)),
			h("p", {}, own(one.reason)),
			one.hint || one.needs
				? h("p", { class: "note" }, own([one.hint, one.needs ? said.needs(one.needs) : ""].filter(Boolean).join(" · ")))
				: null,
		);
	return h("ul", { class: "problems" }, problems.slice(0, 200).map(row));
}

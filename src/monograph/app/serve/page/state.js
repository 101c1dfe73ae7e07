// What the file holds and weighs, how it is built, and whether it is sound.

import { get } from "./api.js";
import { button, fill, h, heading, own } from "./dom.js";
import { trouble } from "./fault.js";
import { bytes, count, percent, words } from "./words.js";

const said = words.state;
const BYTES = new Set(["file_bytes", "memory"]);
const SHARES = new Set(["target_recall", "expected_recall"]);

function shown(key, value) {
	if (value === null || value === "") return "–";
	if (BYTES.has(key)) return bytes(value);
	if (SHARES.has(key)) return percent(value);
	if (typeof value === "number") return Number.isInteger(value) ? count(value) : value.toFixed(2);
	if (Array.isArray(value))
		return value.map((one) => (Array.isArray(one) ? one.map(count).join(" × ") : shown("", one))).join(", ") || "–";
	return own(String(value));
}

function list(values, keys = Object.keys(values)) {
	const rows = keys
		.filter((key) => values[key] !== undefined)
		.map((key) => [h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, shown(key, values[key]))]);
	return h("dl", { class: "facts" }, rows);
}

function part(title, ...children) {
	return h("section", { class: "part" }, h("h2", {}, title), children);
}

export async function show(box, { file, serving }) {
	const found = await get("/stats", { file: file.name });
	const stats = { tables: [], index: {}, file_bytes: found.bytes, ...found }; // a shelf says less
	const [most] = stats.tables.map(([, size]) => size);
	const tables = h(
		"table",
		{ class: "tables" },
		h("tr", {}, h("th", { scope: "col" }, said.table), h("th", { scope: "col" }, said.size), h("td", {})),
		stats.tables.map(([name, size]) =>
			h(
				"tr",
				{},
				h("td", {}, own(name)),
				h("td", { class: "number" }, bytes(size)),
				h("td", {}, h("progress", { max: most, value: size, "aria-hidden": "true" })),
			),
		),
	);
	const server = { version: serving.version, model: serving.model, files: serving.write ? said.write : said.readOnly };
	fill(
		box,
		heading(1, said.title),
		h("p", { class: "note" }, own(file.path)),
		h(
			"div",
			{ class: "parts" },
			part(
				said.holds,
				list(stats, [
					"documents",
					"sources",
					"chunks",
					"characters",
					"terms",
					"vectors",
					"entities",
					"merged",
					"mentions",
					"memo",
					"memo_unused",
				]),
			),
			part(said.models, list(stats, ["embedder", "extractor", "summarizer", "dimension", "addresses"])),
			part(said.index, list(stats.index)),
			stats.tree ? part(said.tree, list(stats.tree)) : null,
			part(said.settings, list({ ...file.settings, format: stats.format, always_forget: String(file.always_forget) })),
			part(said.server, list(server)),
			part(said.weighs, h("p", {}, bytes(stats.file_bytes)), h("details", {}, h("summary", {}, said.tables), tables)),
		),
		checking(file.name),
	);
	return {};
}

function checking(name) {
	const found = h("div", { role: "status" });
	async function check(event) {
		event.target.disabled = true;
		fill(found, h("p", { class: "note" }, said.checking));
		try {
			const findings = await get("/check", { file: name });
			const row = (one) =>
				h(
					"li",
					{},
					h("p", { class: "what" }, own(one.table)),
					h("p", {}, own(one.fault)),
					h("p", { class: "note" }, own(one.hint || (one.repairable ? said.repairable : ""))),
				);
			fill(
				found,
				findings.length ? h("ul", { class: "problems" }, findings.map(row)) : h("p", { class: "sound" }, said.sound),
			);
		} catch (error) {
			fill(found, trouble(error));
		}
		event.target.disabled = false;
	}
	return h("section", { class: "part" }, button(said.check, check), found);
}

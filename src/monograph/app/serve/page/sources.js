// Where the texts come from: folders, what failed in them, and the work of bringing the file up to date.

import { address, get, post, upload } from "./api.js";
import { button, fill, h, heading, own } from "./dom.js";
import { trouble } from "./fault.js";
import { jobItem, problemList } from "./jobs.js";
import { bytes, when, words } from "./words.js";

const said = words.sources;
const SHOWN_JOBS = 8;

export async function show(box, { file, serving }) {
	const name = file.name;
	const folders = h("section", { "aria-labelledby": "folders" });
	const failures = h("section", { "aria-labelledby": "failures" });
	const work = h("ol", { class: "jobs" });
	const fault = h("div");
	const news = h("div", { class: "news", role: "status" });
	let followed = [];
	let drop = null;

	async function load() {
		followed = await get("/sources", { file: name });
		showFolders();
		showFailures();
		drop?.set(followed);
	}

	async function begin(path, body) {
		try {
			const job = await post(path, { ...body, file: name });
			work.querySelector(".none")?.remove();
			const item = jobItem(job, done);
			work.prepend(item);
			item.scrollIntoView({ block: "nearest" });
			fill(fault);
		} catch (error) {
			fill(fault, trouble(error));
		}
	}

	async function done(job) {
		if (job.kind !== "plan") await load().catch(() => {});
	}

	function showFolders() {
		const rows = followed.map((one) =>
			h(
				"li",
				{ class: "folder" },
				h("h3", {}, own(one.root)),
				h("p", { class: "note" }, own(one.place)),
				h(
					"p",
					{},
					said.holds(one.files, one.documents, bytes(one.size)),
					h("span", { class: "note" }, ` · ${said.synced(when(one.synced))}`),
				),
				serving.write ? folderActions(one) : null,
			),
		);
		fill(
			folders,
			h("h2", { id: "folders" }, said.folders),
			rows.length ? h("ul", { class: "folders" }, rows) : h("p", { class: "note" }, said.none),
			serving.write && rows.length
				? h(
						"p",
						{ class: "buttons" },
						button(said.sync, () => begin("/sync", {}), { class: "main" }),
						button(said.plan, () => begin("/plan", {})),
					)
				: null,
		);
	}

	function folderActions({ root, place }) {
		const details = h("details", { class: "sure" });
		details.append(
			h("summary", {}, said.removeOne),
			h("p", {}, said.removeAsk(place)),
			h(
				"p",
				{ class: "buttons" },
				button(said.removeSure, () => begin("/sources/remove", { root }), { class: "bad" }),
				button(words.document.keep, () => (details.open = false)),
			),
		);
		const label = (what) => ({ "aria-label": `${what}: ${root}` });
		return [
			h(
				"p",
				{ class: "buttons" },
				button(said.syncOne, () => begin("/sync", { sources: [place] }), label(said.syncOne)),
				button(said.planOne, () => begin("/plan", { sources: [place] }), label(said.planOne)),
			),
			details,
		];
	}

	function showFailures() {
		const all = followed.flatMap((one) => one.failures);
		fill(
			failures,
			h("h2", { id: "failures" }, said.failures),
			all.length ? problemList(all) : h("p", { class: "note" }, said.noFailures),
			all.length && serving.write ? button(said.retry, () => begin("/retry", {})) : null,
		);
	}

	async function showJobs() {
		const jobs = await get("/jobs", { file: name });
		fill(
			work,
			jobs.length
				? jobs.slice(0, SHOWN_JOBS).map((job) => jobItem(job, done))
				: h("li", { class: "note none" }, said.noJobs),
		);
	}

	if (serving.write) drop = dropZone(name, serving.upload_bytes, (place) => begin("/sync", { sources: [place] }));
	fill(
		box,
		heading(1, said.title),
		news,
		serving.write ? null : h("p", { class: "doubt" }, said.readOnly),
		folders,
		fault,
		h("section", { "aria-labelledby": "work" }, h("h2", { id: "work" }, said.jobs), work),
		failures,
		serving.write ? [adding(begin), drop.element] : null,
	);
	await Promise.all([load(), showJobs()]);
	const stop = watch(name, news, () => Promise.all([load(), showJobs()]));
	return { leave: stop };
}

// Tells when the file has changed, whoever changed it.
function watch(name, news, again) {
	const source = new EventSource(address("/changes", { file: name }));
	let first = null;
	source.addEventListener("change", (event) => {
		const { generation } = JSON.parse(event.data);
		first ??= generation;
		if (generation === first) return;
		first = generation;
		const show = () => {
			fill(news);
			again();
		};
		fill(news, h("p", { class: "doubt" }, said.changed, " ", button(said.show, show, { class: "plain" })));
	});
	return () => source.close();
}

function adding(begin) {
	const path = h("input", {
		id: "path",
		placeholder: said.addHint,
		"aria-describedby": "path-help",
		autocomplete: "off",
		spellcheck: "false",
		dir: "auto",
	});
	const go = (where) => (event) => {
		event.preventDefault();
		const wanted = path.value.trim();
		if (wanted) begin(where, { sources: [wanted] });
		else path.focus();
	};
	return h(
		"section",
		{},
		h("h2", {}, h("label", { for: "path" }, said.add)),
		h(
			"form",
			{ class: "line", onsubmit: go("/plan") },
			path,
			button(said.addPlan, null, { type: "submit" }),
			button(said.addSync, go("/sync"), { class: "main" }),
		),
		h("p", { class: "note", id: "path-help" }, said.addHelp),
	);
}

// Files are copied into a folder that is followed, never kept nowhere.
function dropZone(name, most, taken) {
	const root = h("select", { id: "drop-root" });
	const below = h("input", { id: "drop-below", autocomplete: "off", spellcheck: "false", dir: "auto" });
	const files = h("input", { type: "file", multiple: true, id: "drop-files", class: "unseen" });
	const log = h("ul", { class: "note", role: "status" });
	const zone = h(
		"div",
		{ class: "zone" },
		h("p", {}, said.drop),
		h("p", { class: "note" }, said.dropHelp),
		h("label", { class: "button", for: "drop-files" }, said.choose),
		files,
	);
	let places = new Map();

	async function take(list) {
		let copied = 0;
		const place = places.get(root.value);
		for (const file of list) {
			try {
				if (file.size > most) throw new Error(said.tooLarge(file.name, bytes(most)));
				const found = await upload(file, { root: root.value, name: file.name, folder: below.value.trim(), file: name });
				log.append(h("li", {}, own(said.copied(file.name, found.path))));
				copied += 1;
			} catch (error) {
				log.append(h("li", { class: "failed" }, own(`${file.name}: ${error.message} ${error.hint || ""}`)));
			}
		}
		if (copied) taken(place);
	}
	files.addEventListener("change", () => {
		take([...files.files]);
		files.value = "";
	});
	zone.addEventListener("dragover", (event) => {
		event.preventDefault();
		zone.classList.add("over");
	});
	zone.addEventListener("dragleave", () => zone.classList.remove("over"));
	zone.addEventListener("drop", (event) => {
		event.preventDefault();
		zone.classList.remove("over");
		take([...event.dataTransfer.files]);
	});
	const element = h(
		"section",
		{ class: "dropping" },
		zone,
		h(
			"div",
			{ class: "fields" },
			h("label", { for: "drop-root" }, h("span", {}, said.dropInto), root),
			h("label", { for: "drop-below" }, h("span", {}, said.dropBelow), below),
		),
		log,
	);
	function set(followed) {
		places = new Map(followed.map((one) => [one.root, one.place]));
		const chosen = root.value;
		fill(
			root,
			followed.map((one) => h("option", { value: one.root, title: one.place }, one.root)),
		);
		if (places.has(chosen)) root.value = chosen;
		element.hidden = !followed.length;
	}
	return { element, set };
}

// What went wrong, in words, with what to do about it.

import { Fault } from "./api.js";
import { button, h } from "./dom.js";
import { words } from "./words.js";

export function saidOf(error) {
	if (!(error instanceof Fault)) return words.fault.broken;
	if (error.kind === "Unreachable") return words.fault.Unreachable;
	if (error.status === 401) return words.fault.locked;
	return [error.message, error.hint];
}

// A box that says it, and may try again.
export function trouble(error, again = null) {
	if (!(error instanceof Fault) && error?.name !== "AbortError") console.error(error);
	const [what, hint] = saidOf(error);
	return h(
		"div",
		{ class: "trouble", role: "alert" },
		h("p", { class: "what", dir: "auto" }, what),
		hint ? h("p", { dir: "auto" }, hint) : null,
		again ? button(words.fault.again, again) : null,
	);
}

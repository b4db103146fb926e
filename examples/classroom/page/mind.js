/** View of a mind, as readable lists. Agents' texts are text, never HTML. */

const element = (tag, className, ...content) => {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...content);
  return made;
};

const title = (text, count) => element("h3", "", text, element("span", "count", String(count)));
const none = (text) => element("p", "none", text);

function beliefs({ beliefs: all }) {
  const own = all.filter(({ rule }) => !rule);
  const rows = own.map(({ text, sources }) => element("li", "", element("code", "", text), element("span", "from", sources.filter((source) => source !== "self").join(", "))));
  const rules = all.length - own.length;
  return element("section", "beliefs", title("Beliefs", own.length), own.length > 0 ? element("ul", "", ...rows) : none("believes nothing"), ...(rules > 0 ? [none(rules === 1 ? "and a rule" : `and ${rules} rules`)] : []));
}

function goals({ goals: all }) {
  const rows = all.map(({ text, state, reason }) => element("li", state, element("code", "", text), element("span", "from", [state, reason].filter(Boolean).join(": "))));
  return element("section", "goals", title("Goals", all.length), all.length > 0 ? element("ul", "", ...rows) : none("wants nothing"));
}

/** Shows intentions: each is a stack of plans in progress, the innermost first. */
function intentions({ intentions: all }, show) {
  const stacks = all.map(({ id, state, waits_for: waits, frames }) => {
    const steps = frames.map(({ trigger, file, step, step_line: line, unifier }) => {
      const variables = unifier.map(([name, value]) => `${name} = ${value}`).join(", ");
      const place = element("button", "place", `${file.split("/").at(-1)}:${line ?? "end"}`);
      place.type = "button";
      place.onclick = () => show(file, line);
      return element("li", "", element("code", "trigger", trigger), element("code", "step", step ?? "done"), place, ...(variables ? [element("small", "", variables)] : []));
    });
    return element("div", `intention ${state}`, element("p", "state", element("b", "", String(id)), ` ${state}${waits ? ` for ${waits}` : ""}`), element("ol", "", ...steps));
  });
  return element("section", "intentions", title("Intentions", all.length), ...(stacks.length > 0 ? stacks : [none("does nothing just now")]));
}

function recent({ recent: all }) {
  const rows = all.slice(-12).map(({ cycle, text }) => element("li", "", element("span", "from", String(cycle)), element("code", "", text)));
  return element("section", "recent", title("Last cycles", all.length), rows.length > 0 ? element("ol", "", ...rows) : none("none since somebody looks"));
}

const PARTS = [
  ["intentions", intentions],
  ["beliefs", beliefs],
  ["goals", goals],
  ["recent", recent],
];
/** Last shown content of each part. */
const shown = new WeakMap();

/** Shows a mind; `show` gets a line that the user wants to see. Only changed parts are drawn anew, and none while a
 * button in it is pressed: a click would be lost with its button, and so would a selection. */
export function showMind(place, mind, show) {
  if (place.querySelector("button:active")) return;
  if (!shown.has(place.firstElementChild)) place.replaceChildren();
  PARTS.forEach(([name, draw], at) => {
    const [before, text] = [place.children[at], JSON.stringify(mind[name])];
    if (before && shown.get(before) === text) return;
    const made = draw(mind, show);
    shown.set(made, text);
    if (!before) return place.append(made);
    const focused = [...before.querySelectorAll("button")].indexOf(document.activeElement);
    before.replaceWith(made);
    if (focused >= 0) (made.querySelectorAll("button")[focused] ?? place).focus();
  });
}

/** Shows that there is no mind. */
export function showNone(place, why) {
  if (place.textContent !== why) place.replaceChildren(none(why));
}

/** Returns the lines of a file that an agent is at, the innermost of the running plans first. */
export function linesOf(mind, file) {
  const steps = mind.intentions.flatMap(({ frames }) => frames).filter((frame) => frame.step_line && frame.file.split("/").at(-1) === file);
  return [...new Set(steps.map(({ step_line: line }) => line))];
}

/** Sequence diagram: messages as they are sent, between life lines. */

const SVG = "http://www.w3.org/2000/svg";
const [ROW, LANE, HEAD, MARGIN] = [26, 120, 24, 60];
/** Number of the last messages that are shown. */
const SHOWN_MAX = 60;
/** Families of performatives, each with a colour. */
const FAMILIES = {
  ask: ["request", "query-if", "query-ref", "achieve", "askOne", "askAll", "askHow", "subscribe", "cfp", "unachieve"],
  tell: ["inform", "tell", "untell", "confirm", "percept", "tellHow", "agree"],
  offer: ["propose", "accept-proposal"],
  fail: ["failure", "refuse", "not-understood", "reject-proposal"],
};

const family = (performative) => Object.keys(FAMILIES).find((name) => FAMILIES[name].includes(performative)) ?? "tell";

function draw(tag, attributes, ...content) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

export class Sequence {
  #place;
  #messages = [];
  #isDue = false;

  constructor(place) {
    this.#place = place;
  }

  clear() {
    this.#messages = [];
    this.#draw();
  }

  add(said) {
    this.#messages.push(said);
    if (this.#messages.length > SHOWN_MAX) this.#messages.shift();
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  get count() {
    return this.#messages.length;
  }

  #draw() {
    const all = this.#messages;
    if (all.length === 0) return this.#place.replaceChildren(Object.assign(document.createElement("p"), { className: "none", textContent: "nobody said anything yet" }));
    const lanes = [...new Set(all.flatMap(({ from, to }) => [from, to]))];
    const at = (name) => MARGIN + lanes.indexOf(name) * LANE;
    const [width, height] = [2 * MARGIN + (lanes.length - 1) * LANE, all.length * ROW + 12];
    // Names stay in sight.
    const heads = draw("svg", { class: "heads", width, height: HEAD, "aria-hidden": "true" }, ...lanes.map((name) => draw("text", { class: "head", x: at(name), y: 16 }, name)));
    const lines = lanes.map((name) => draw("line", { class: "lane", x1: at(name), y1: 0, x2: at(name), y2: height }));
    const isAtEnd = this.#place.scrollTop + this.#place.clientHeight >= this.#place.scrollHeight - 2 * ROW;
    const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `the last ${all.length} messages` }, ...lines, ...all.map((said, row) => this.#arrow(said, row, at)));
    this.#place.replaceChildren(heads, svg);
    if (isAtEnd) this.#place.scrollTop = this.#place.scrollHeight;
  }

  #arrow({ from, to, performative, content, dead }, row, at) {
    const [x1, x2, y] = [at(from), at(to), row * ROW + 18];
    const toSelf = x1 === x2;
    const side = x2 >= x1 ? 1 : -1;
    const path = toSelf ? `M${x1} ${y - 6}h26v10h-20` : `M${x1} ${y}H${x2 - 6 * side}`;
    const tip = toSelf ? `${x1 + 2},${y + 4} ${x1 + 9},${y} ${x1 + 9},${y + 8}` : `${x2},${y} ${x2 - 7 * side},${y - 4} ${x2 - 7 * side},${y + 4}`;
    const middle = toSelf ? x1 + 32 : (x1 + x2) / 2;
    const text = `${performative} ${content}`;
    const room = toSelf ? 18 : Math.max(16, Math.abs(x2 - x1) / 6.2);
    const label = text.length > room ? `${text.slice(0, room - 1)}…` : text;
    return draw(
      "g",
      { class: `message ${family(performative)}${dead ? " dead" : ""}` },
      draw("title", {}, `${from} → ${to}: ${text}${dead ? ` (${dead})` : ""}`),
      draw("path", { d: path }),
      draw("polygon", { points: tip }),
      draw("text", { x: middle, y: y - 5, "text-anchor": toSelf ? "start" : "middle" }, label),
    );
  }
}

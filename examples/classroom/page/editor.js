/** Editor of AgentSpeak: text over its own colours, numbered lines, and diagnostics. Contents are text, never HTML. */
import { pieces } from "./colours.js";

const element = (tag, className, text) => Object.assign(document.createElement(tag), { className, ...(text !== undefined && { textContent: text }) });

export class Editor {
  #area;
  #colours;
  #gutter;
  #marks;
  #diagnostics = [];
  #current = [];

  constructor(place, onChange) {
    this.#gutter = element("div", "gutter");
    this.#gutter.ariaHidden = "true";
    this.#marks = element("div", "marks");
    this.#colours = element("pre", "colours");
    this.#colours.ariaHidden = "true";
    this.#area = element("textarea", "area");
    Object.assign(this.#area, { spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off", ariaLabel: "the program" });
    const sheet = element("div", "sheet");
    sheet.append(this.#marks, this.#colours, this.#area);
    place.append(this.#gutter, sheet);
    this.#area.addEventListener("input", () => {
      this.#draw();
      onChange(this.#area.value);
    });
    this.#area.addEventListener("keydown", (event) => this.#key(event));
  }

  get text() {
    return this.#area.value;
  }

  show(text) {
    this.#area.value = text;
    this.#draw();
  }

  /** Diagnostics to show: lines and columns count from 1. */
  set diagnostics(diagnostics) {
    this.#diagnostics = diagnostics;
    this.#mark();
  }

  /** Lines that an agent is at. */
  set current(lines) {
    if (lines.join() === this.#current.join()) return;
    this.#current = lines;
    this.#mark();
  }

  focus(line, column) {
    const lines = this.text.split("\n");
    const at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
    this.#area.focus();
    this.#area.setSelectionRange(at, at);
    this.#gutter.children[line - 1]?.scrollIntoView({ block: "nearest" });
  }

  /** Handles keys: Tab indents; after Escape it goes to the next control, as elsewhere. */
  #key(event) {
    if (event.key === "Escape") this.#area.dataset.leave = "yes";
    else if (event.key === "Tab" && !event.shiftKey && !this.#area.dataset.leave && !event.ctrlKey) {
      event.preventDefault();
      this.#area.setRangeText("  ", this.#area.selectionStart, this.#area.selectionEnd, "end");
      this.#area.dispatchEvent(new Event("input"));
    } else if (event.key !== "Shift") delete this.#area.dataset.leave;
  }

  #draw() {
    const text = this.text;
    this.#colours.replaceChildren(...[...pieces(text)].map(([kind, said]) => (kind === "" ? document.createTextNode(said) : element("span", kind, said))), "\n");
    const count = text.split("\n").length;
    this.#gutter.replaceChildren(...Array.from({ length: count }, (_, at) => element("span", "", String(at + 1))));
    this.#mark();
  }

  #mark() {
    const worst = new Map();
    for (const one of this.#diagnostics) if (worst.get(one.line)?.severity !== "error") worst.set(one.line, one);
    [...this.#gutter.children].forEach((number, at) => {
      const said = worst.get(at + 1);
      number.className = [said?.severity ?? "", this.#current.includes(at + 1) ? "here" : ""].join(" ");
      number.title = said ? [said.message, said.help ?? ""].join("\n").trim() : "";
    });
    const line = (at, className) => {
      const mark = element("i", className);
      mark.style.setProperty("--line", at - 1);
      return mark;
    };
    const under = this.#diagnostics.map((one) => {
      const mark = line(one.line, `under ${one.severity}`);
      const length = one.endLine === one.line ? Math.max(1, one.endColumn - one.column) : 3;
      mark.style.setProperty("--column", one.column - 1);
      mark.style.setProperty("--length", length);
      return mark;
    });
    this.#marks.replaceChildren(...this.#current.map((at, place) => line(at, place === 0 ? "now" : "outer")), ...under);
  }
}

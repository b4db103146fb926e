/**
 * AgentSpeak that runs in the page: each block of code becomes an editor with Run and Stop, with its output and the
 * minds of its agents. Editor, Worker and minds are those of the playground. Without this script the block is code.
 */

const playground = new URL("playground/", import.meta.url);
/** Interval between two looks into a mind. */
const LOOK_MS = 150;
/** Maximal number of lines of output that a block keeps. */
const LINES_MAX = 300;

const element = (tag, className, ...content) => {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...content);
  return made;
};

function button(text, className, does) {
  const made = element("button", className, text);
  made.type = "button";
  made.onclick = does;
  return made;
}

/** Parts of the playground, loaded with the first block. */
let parts;
const loadParts = () => (parts ??= Promise.all(["editor.js", "mind.js", "desk.js"].map((name) => import(new URL(name, playground)))).then((all) => Object.assign({}, ...all)));
/** Engine, loaded when the first program runs and compiled once. */
let module;
/** Block whose society runs: one at a time. */
let running;

class AgentSpeak extends HTMLElement {
  #editor;
  #original = "";
  #run;
  #stop;
  #reset;
  #state;
  #output;
  #agents;
  #mind;
  #result;
  #desk;
  #chosen;
  #showMind;
  #timer;

  async connectedCallback() {
    if (this.#original) return;
    const code = this.querySelector("pre");
    if (!code) return;
    this.#original = code.textContent;
    const { Editor, showMind } = await loadParts();
    this.#showMind = showMind;
    const place = element("div", "asl-editor");
    this.#editor = new Editor(place, () => this.#edited());
    const area = place.querySelector("textarea");
    area.ariaLabel = `program ${this.file}`;
    // Tab indents only where somebody has typed: else it goes on through the page.
    area.addEventListener("focus", () => (area.dataset.leave = "yes"));
    this.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        void this.start();
      }
    });
    this.#run = button("Run", "asl-run", () => void this.start());
    this.#run.title = "run this program (Ctrl+Enter)";
    this.#stop = button("Stop", "", () => this.stop("stopped"));
    this.#stop.hidden = true;
    this.#reset = button("Undo", "asl-quiet", () => this.#undo());
    this.#reset.title = "take the changes back";
    this.#reset.hidden = true;
    this.#state = element("span", "asl-state");
    this.#state.role = "status";
    const bar = element("div", "asl-bar", element("span", "asl-file", this.file), this.#state, this.#reset, this.#stop, this.#run);
    this.#output = element("ol", "asl-output");
    Object.assign(this.#output, { role: "log", tabIndex: 0, ariaLabel: "output" });
    this.#agents = element("div", "asl-agents");
    this.#agents.role = "group";
    this.#agents.ariaLabel = "agents";
    this.#mind = element("div", "asl-mind");
    this.#mind.tabIndex = 0;
    this.#mind.role = "region";
    this.#mind.ariaLabel = "mind";
    this.#result = element("div", "asl-result", this.#output, element("div", "asl-minds", this.#agents, this.#mind));
    this.#result.hidden = true;
    this.#editor.show(this.#original);
    this.replaceChildren(bar, place, this.#result);
    this.dataset.ready = "";
  }

  disconnectedCallback() {
    this.stop("");
  }

  get file() {
    return this.dataset.file ?? "agent.asl";
  }

  get code() {
    return this.#editor?.text ?? this.#original;
  }

  #edited() {
    this.#reset.hidden = this.code === this.#original;
    this.#editor.diagnostics = [];
  }

  #undo() {
    this.#editor.show(this.#original);
    this.#edited();
  }

  /** Blocks whose programs run with this one, in the order of the page. */
  get #blocks() {
    const { project } = this.dataset;
    if (project === undefined) return [this];
    const all = [...document.querySelectorAll("agent-speak")].filter((one) => one.dataset.project === project);
    const above = all.slice(0, all.indexOf(this) + 1);
    const below = all.slice(above.length);
    const isFirst = ({ file }, at) => above.every((other) => other.file !== file) && below.findIndex((other) => other.file === file) === at;
    return [...above, ...below.filter(isFirst)];
  }

  /** Files of the society, the one to open, and where each block's lines begin: snippets.mjs explains it. */
  get #society() {
    const files = {};
    let first = 1;
    for (const one of this.#blocks) {
      const before = one.file.endsWith(".mas2j") ? undefined : files[one.file];
      if (one === this) first = before === undefined ? 1 : before.split("\n").length + 2;
      files[one.file] = before === undefined ? one.code : `${before}\n\n${one.code}`;
    }
    const names = Object.keys(files);
    let path = names.find((name) => name.endsWith(".mas2j")) ?? (names.length === 1 ? names[0] : undefined);
    if (path === undefined) {
      path = "all.mas2j";
      files[path] = `MAS all { agents: ${names.map((name) => `${name.replace(/\.asl$/, "")};`).join(" ")} }`;
    }
    return { files, path, first };
  }

  async start() {
    running?.stop("stopped");
    running = this;
    this.#result.hidden = false;
    this.#output.replaceChildren();
    this.#mind.replaceChildren();
    this.#agents.replaceChildren();
    this.#chosen = undefined;
    this.#editor.diagnostics = [];
    this.#buttons(true);
    this.#say(module ? "begins" : "loads the engine");
    const { files, path, first } = this.#society;
    let own;
    try {
      const { Desk, engine } = await loadParts();
      module ??= engine(new URL("lib/agentspeak.wasm", playground));
      const compiled = await module.catch((error) => {
        module = undefined;
        throw error;
      });
      if (running !== this) return;
      own = new Desk((news) => this.#desk === own && this.#heard(news));
      this.#desk = own;
      await own.ask("begin", { module: compiled, files });
      // Agents wait until their minds are shown: many a society ends at once.
      await own.ask("pace", { paused: true });
      const { agents, diagnostics } = await own.ask("open", { path });
      if (this.#desk !== own) return;
      this.#mark(diagnostics, first);
      this.#chosen = agents.find((name) => `${name}.asl` === this.file) ?? agents[0];
      this.#say("runs");
      await this.#look();
      await own.ask("pace", { paused: false });
    } catch (error) {
      if (running !== this || this.#desk !== own) return;
      if (!error.diagnostics) return this.#fail(error.message);
      this.#mark(error.diagnostics, first);
      this.stop("has errors");
    }
  }

  stop(why) {
    clearTimeout(this.#timer);
    this.#desk?.end();
    this.#desk = undefined;
    if (running !== this) return;
    running = undefined;
    this.#buttons(false);
    this.#say(why);
  }

  #buttons(runs) {
    this.#stop.hidden = !runs;
    this.#run.textContent = runs ? "Run anew" : "Run";
  }

  #say(text) {
    if (this.#state.textContent !== text) this.#state.textContent = text;
  }

  #mark(diagnostics, first) {
    const lines = this.code.split("\n").length;
    const own = diagnostics.filter(({ file, line }) => file === this.file && line >= first && line < first + lines);
    this.#editor.diagnostics = own.map((one) => ({ ...one, line: one.line - first + 1, endLine: one.endLine - first + 1 }));
    for (const one of diagnostics) {
      const line = own.includes(one) ? one.line - first + 1 : one.line;
      this.#write(one.severity, "", `${one.file}:${line}: ${one.message}${one.help ? ` (${one.help})` : ""}`);
    }
  }

  #write(className, agent, text) {
    this.#output.append(element("li", className, ...(agent ? [element("b", "", `[${agent}]`), " "] : []), text));
    while (this.#output.children.length > LINES_MAX) this.#output.firstElementChild.remove();
    this.#output.scrollTop = this.#output.scrollHeight;
  }

  /** Says that the engine cannot run: a program is not to blame. */
  #fail(text) {
    this.#write("error", "", text);
    this.stop("cannot run");
  }

  #heard(news) {
    if (news.type === "broken") return this.#fail(news.text);
    if (news.type !== "happened") return;
    for (const one of news.happened) {
      if (one.type === "printed") this.#write("", one.agent, one.text);
      else if (one.type === "noted") this.#write(one.level === "info" ? "note" : "warning", one.agent, one.text);
      else if (one.type === "failed") this.#write("warning", "", one.text);
      else if (one.type === "stopped") return this.stop("ended");
    }
    if (news.left > 0) this.#write("note", "", `${news.left} lines are left out`);
  }

  async #look() {
    const own = this.#desk;
    if (!own) return;
    try {
      const seen = await own.ask("look", { agent: this.#chosen });
      if (this.#desk !== own) return;
      const names = seen.agents.map(({ name }) => name);
      if (!names.includes(this.#chosen)) this.#chosen = names[0];
      this.#tabs(names);
      if (seen.mind) this.#showMind(this.#mind, seen.mind, () => this.querySelector("textarea").focus());
      if (names.length === 0) return this.stop("all agents ended");
    } catch {
      // The society ended meanwhile.
    }
    if (this.#desk === own) this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
  }

  #tabs(names) {
    if (names.join() === [...this.#agents.children].map((one) => one.textContent).join()) {
      for (const one of this.#agents.children) one.ariaPressed = String(one.textContent === this.#chosen);
      return;
    }
    const all = names.map((name) => {
      const made = button(name, "", () => {
        this.#chosen = name;
        this.#tabs(names);
      });
      made.ariaPressed = String(name === this.#chosen);
      return made;
    });
    this.#agents.replaceChildren(...all);
  }
}

customElements.define("agent-speak", AgentSpeak);

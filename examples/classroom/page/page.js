/** Page of the classroom: programs, minds, output, and messages. */
import { Desk, engine } from "./desk.js";
import { Editor } from "./editor.js";
import { linesOf, showMind, showNone } from "./mind.js";
import { Sequence } from "./sequence.js";

/** Interval between two looks into a mind; and delay between a change of a program and its check. */
const [LOOK_MS, CHECK_MS] = [120, 250];
/** Maximal number of kept output lines. */
const LINES_MAX = 1000;

const part = (id) => document.getElementById(id);
const query = new URLSearchParams(location.hash.slice(1));
// A token does not stay where others can read it.
history.replaceState(null, "", location.pathname + location.search);

/** Token of the address: it belongs to this tab while the tab is open, even when it is reloaded. */
const token = keptToken(query.get("token"));

function keptToken(given) {
  const key = "classroom.token";
  try {
    if (given !== null) sessionStorage.setItem(key, given);
    return sessionStorage.getItem(key) ?? "";
  } catch {
    // The browser keeps nothing.
    return given ?? "";
  }
}

const element = (tag, className, ...content) => {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...content);
  return made;
};

let programs = [];
let program;
/** Texts of files by name: the edited ones, and the loaded ones. */
let files = {};
let original = {};
let open = "";
let module;
let checker;
let desk;
let chosen;
let known = [];
let isPaused = false;
let attached = "";
/** True while the society is being attached; and the number of attempts. */
let isJoining = false;
let joins = 0;
/** Promise of the former societies: they may have to leave a platform first, and their names are taken until then. */
let leaving = Promise.resolve();
let mind;
/** True if the program is to be shown anew. */
let isNew = false;

const sequence = new Sequence(part("messages"));
const editor = new Editor(part("editor"), (text) => {
  if (!program) return;
  files[open] = text;
  keep();
  later(check, CHECK_MS);
});

const timers = new Map();
function later(what, ms) {
  clearTimeout(timers.get(what));
  timers.set(what, setTimeout(what, ms));
}

// ---- Programs

const storageKey = () => `classroom:${program.name}`;

/** Keeps the written programs when the page is closed. */
function keep() {
  const changed = Object.fromEntries(Object.entries(files).filter(([name, text]) => text !== original[name]));
  try {
    if (Object.keys(changed).length > 0) localStorage.setItem(storageKey(), JSON.stringify(changed));
    else localStorage.removeItem(storageKey());
  } catch {
    // The browser keeps nothing.
  }
  part("reset").hidden = Object.keys(changed).length === 0;
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(storageKey()) ?? "{}");
  } catch {
    return {};
  }
}

async function fetched(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} is not to be had (${response.status})`);
  return response;
}

/** Number of choices, and the program of the last one. */
let choices = 0;
let last;

/**
 * Opens a program. Until all of it has been loaded, the former one stays open, and runs. To choose the same program
 * again has no effect: it may run by now.
 */
async function choose(name) {
  const wanted = programs.find((one) => one.name === name) ?? programs[0];
  if (wanted === last) return;
  last = wanted;
  const choice = ++choices;
  part("program").value = wanted.name;
  let texts;
  try {
    texts = await Promise.all(wanted.files.map(async (file) => (await fetched(`programs/${wanted.name}/${file}`)).text()));
  } catch (error) {
    if (choice !== choices) return;
    part("program").value = program?.name ?? "";
    last = program;
    state(error.message);
    return write("warning", "", error.message);
  }
  // Another choice was quicker.
  if (choice !== choices) return;
  if (desk) stop("nothing runs");
  program = wanted;
  part("run").disabled = false;
  original = Object.fromEntries(program.files.map((file, at) => [file, texts[at]]));
  files = { ...original, ...Object.fromEntries(Object.entries(kept()).filter(([file]) => file in original)) };
  keep();
  show(program.files.find((file) => file.endsWith(".asl")));
  await check();
}

function show(file, line) {
  open = file;
  tabs(part("files"), program.files, file, (other) => show(other));
  editor.show(files[file]);
  place();
  markProblems();
  if (line) {
    view("program");
    editor.focus(line, 1);
  }
}

/** Makes a row of tabs, with the arrow keys as usual. Existing tabs stay, since a click would be lost with its tab. */
function tabs(list, names, current, pick, state = () => "") {
  const had = list.contains(document.activeElement);
  const there = new Map([...list.children].map((tab) => [tab.textContent, tab]));
  const row = names.map((name) => {
    const tab = there.get(name) ?? element("button", "", name);
    Object.assign(tab, { className: state(name), type: "button", role: "tab", ariaSelected: String(name === current), tabIndex: name === current ? 0 : -1 });
    tab.onclick = () => pick(name);
    tab.onkeydown = ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step) pick(names[(names.indexOf(name) + step + names.length) % names.length]);
    };
    there.delete(name);
    return tab;
  });
  for (const gone of there.values()) gone.remove();
  row.forEach((tab, at) => tab !== list.children[at] && list.insertBefore(tab, list.children[at] ?? null));
  const focused = row[names.indexOf(current)];
  if (had && document.activeElement !== focused) focused?.focus();
}

let problems = [];

async function check() {
  const whose = program;
  const [path] = whose.files;
  try {
    const { diagnostics } = await checker.ask("check", { files, path });
    if (whose !== program) return;
    problems = diagnostics;
  } catch (error) {
    if (whose !== program) return;
    problems = [{ severity: "error", message: error.message, file: path, line: 1, column: 1, endLine: 1, endColumn: 1, label: "" }];
  }
  markProblems();
}

function markProblems() {
  editor.diagnostics = problems.filter(({ file }) => file === open);
  const rows = problems.map((one) => {
    const row = element("button", one.severity, element("b", "", `${one.file}:${one.line}`), ` ${one.message}`, ...(one.help ? [element("small", "", one.help)] : []));
    row.type = "button";
    row.onclick = () => {
      show(one.file);
      editor.focus(one.line, one.column);
    };
    return element("li", "", row);
  });
  part("problems").replaceChildren(...rows);
}

// ---- Running

const speed = () => Number(part("speed").value);

/** Shows the state; screen readers read it aloud whenever it changes. */
function state(text) {
  if (part("state").textContent !== text) part("state").textContent = text;
}

function end() {
  if (attached || isJoining) leaving = Promise.all([leaving, desk?.leave()]);
  else desk?.end();
  desk = undefined;
  attached = "";
  takeBack();
  part("dialog").close();
  chosen = undefined;
  mind = undefined;
  known = [];
  setPaused(false);
  buttons();
  place();
}

/** Ends the running society, and shows that none runs. */
function stop(why) {
  end();
  tabs(part("agents"), [], undefined, pick);
  showNone(part("mind"), why);
  state(why);
}

function buttons() {
  for (const id of ["pause", "step", "stop", "attach"]) part(id).disabled = desk === undefined;
  part("run").textContent = desk ? "Run anew" : "Run";
  part("attach").textContent = attached ? "Detach" : "Attach…";
  for (const control of part("tell").elements) control.disabled = !desk || chosen === undefined;
}

function setPaused(paused) {
  isPaused = paused;
  part("pause").ariaPressed = String(paused);
  part("pause").textContent = paused ? "Go on" : "Pause";
}

async function run(paused = false) {
  if (part("run").disabled) return;
  end();
  const own = new Desk((news) => desk === own && heard(news));
  desk = own;
  part("output").replaceChildren();
  sequence.clear();
  buttons();
  state("beginning");
  try {
    await own.ask("begin", { module, files });
    await pace(paused);
    const { agents } = await own.ask("open", { path: program.files[0] });
    chosen = agents.find((name) => `${name}.asl` === open) ?? agents.find((name) => name !== "environment") ?? agents[0];
    if (desk !== own) return;
    buttons();
    look();
  } catch (error) {
    if (desk !== own) return;
    if (error.diagnostics) problems = error.diagnostics;
    markProblems();
    end();
    state(error.message);
  }
}

/** Sends an order to the running society. Shows its error, unless the society was ended meanwhile. */
async function order(what, rest) {
  const own = desk;
  try {
    await own?.ask(what, rest);
  } catch (error) {
    if (desk === own) state(error.message);
  }
}

async function pace(paused) {
  setPaused(paused);
  await order("pace", { paused, perSecond: speed() });
}

async function step() {
  if (!desk) return run(true);
  if (part("step").disabled) return;
  if (!isPaused) await pace(true);
  await order("step", { agent: chosen });
  look();
}

/** Looks into the chosen mind, again and again. */
async function look() {
  const own = desk;
  if (!own) return;
  try {
    const seen = await own.ask("look", { agent: chosen });
    if (desk !== own) return;
    known = seen.agents;
    const names = known.map(({ name }) => name);
    if (chosen !== undefined && !names.includes(chosen)) mind = undefined;
    else mind = seen.mind;
    const file = mind?.source_file?.split("/").at(-1);
    if (isNew && file !== open && file in files) show(file);
    if (mind) isNew = false;
    tabs(part("agents"), names, chosen, pick, (name) => known.find((one) => one.name === name)?.state ?? "");
    if (mind) showMind(part("mind"), mind, show);
    else showNone(part("mind"), names.length > 0 ? "that agent ended: choose another one" : "all agents ended");
    place();
    if (seen.counters) state(`${names.length} ${names.length === 1 ? "agent" : "agents"}, ${seen.counters.sent} ${seen.counters.sent === 1 ? "message" : "messages"}${isPaused ? ", paused" : ""}${attached ? `, on ${attached}` : ""}`);
  } catch (error) {
    if (desk === own) state(error.message);
  }
  if (desk === own) later(look, LOOK_MS);
}

function pick(name) {
  if (!desk) return;
  chosen = name;
  mind = undefined;
  isNew = true;
  buttons();
  look();
}

/** Marks the agent's lines in the open file. */
function place() {
  editor.current = mind ? linesOf(mind, open) : [];
}

function heard(news) {
  if (news.type === "happened") for (const one of news.happened) happened(one);
  if (news.left > 0) write("note", "", `and ${news.left} more`);
  if (news.type === "broken") state(news.text);
  if (news.type === "detached") {
    attached = "";
    buttons();
    if (news.why) write("warning", "", `the platform: ${news.why}`);
  }
}

function happened({ type, agent, text, level, reason, code, name, ...said }) {
  if (type === "printed") write("", agent, text);
  else if (type === "noted") write(level === "info" ? "note" : "warning", agent, text);
  else if (type === "said") sequence.add(said);
  else if (type === "ended") write("note", agent, `ended: ${reason}`);
  else if (type === "seated") write("note", agent, `is ${name} now`);
  else if (type === "failed") write("warning", "", text);
  else if (type === "stopped") {
    write("note", "", code === 0 ? "the society was stopped" : `the society was stopped with code ${code}`);
    stop("the society was stopped");
  }
}

function write(kind, agent, text) {
  const list = part("output");
  const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 40;
  list.append(element("li", kind, ...(agent ? [element("b", "", agent), " "] : []), text));
  while (list.children.length > LINES_MAX) list.firstChild.remove();
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

// ---- Telling an agent something

part("tell").onsubmit = async (event) => {
  event.preventDefault();
  const wish = part("wish").value.trim();
  const [sign, rest] = [wish.slice(0, 1), wish.slice(1).trim()];
  const own = desk;
  try {
    if (sign === "!") await own.ask("pursue", { agent: chosen, goal: rest });
    else await own.ask("believe", { agent: chosen, belief: /^[+-]/.test(wish) ? rest : wish, add: sign !== "-" });
    part("wish").value = "";
    part("wish").setCustomValidity("");
    look();
  } catch (error) {
    if (desk !== own) return;
    part("wish").setCustomValidity(error.message);
    part("wish").reportValidity();
  }
};
part("wish").oninput = () => part("wish").setCustomValidity("");

// ---- A platform

/** True for a page of a node: nodes serve pages here, other servers do not. */
const isServedByNode = location.pathname.startsWith("/pages/");

/** Explains why the society is not attached, with a remedy. */
function whyNot(message, address) {
  // To browsers `localhost:8420` is an address, of the kind `localhost:`.
  if (!URL.canParse(address) || !/^(http|ws)s?:$/.test(new URL(address).protocol)) return `${address || "nothing"} is no address: it is to be http://HOST:PORT, as a node prints it when it begins`;
  if (!message.startsWith("unreachable")) return message;
  const { host, origin } = new URL(address);
  if (host === location.host) return `Nobody answers at ${address}. Is the node there still?`;
  // Pages of a node connect to no other node, unless this node allows it.
  const also = isServedByNode ? ` And does the node that has this page allow it to go there? (--http-origin ${origin.replace(/^ws/, "http")})` : "";
  return `Nobody lets this page in at ${address}. Is a node there, with --http? Does it allow pages from here? (--http-origin ${location.origin})${also}`;
}

part("attach").onclick = () => {
  if (attached) return order("detach");
  part("address").value ||= isServedByNode ? location.origin : "http://127.0.0.1:8420";
  part("token").value ||= token;
  part("refusal").textContent = "";
  part("dialog").showModal();
};
/** Cancels the attempt of a user who does not wait until the society is attached. */
function takeBack() {
  if (isJoining) void order("detach");
  joins++;
  isJoining = part("join").disabled = false;
}

part("dialog").oncancel = takeBack;
part("cancel").onclick = () => {
  takeBack();
  part("dialog").close();
};
part("joining").onsubmit = async (event) => {
  event.preventDefault();
  const [own, join, address] = [desk, ++joins, part("address").value.trim()];
  isJoining = part("join").disabled = true;
  part("refusal").textContent = "";
  try {
    await leaving;
    if (join !== joins) return;
    const name = await own.ask("attach", { url: address, token: part("token").value });
    if (join !== joins) return;
    attached = name;
    isJoining = false;
    part("dialog").close();
    buttons();
  } catch (error) {
    if (join !== joins) return;
    part("refusal").textContent = whyNot(error.message, address);
    isJoining = part("join").disabled = false;
  }
};

// ---- Controls

function view(name) {
  document.body.dataset.view = name;
  for (const button of document.querySelectorAll("nav button")) button.ariaPressed = String(button.dataset.view === name);
}

for (const button of document.querySelectorAll("nav button")) button.onclick = () => view(button.dataset.view);
part("program").onchange = () => choose(part("program").value);
part("run").onclick = () => run();
part("pause").onclick = () => pace(!isPaused);
part("step").onclick = step;
part("stop").onclick = () => stop("nothing runs");
part("speed").onchange = () => desk && pace(isPaused);
part("reset").onclick = () => {
  files = { ...original };
  keep();
  show(open);
  check();
};
addEventListener("keydown", (event) => {
  if (part("dialog").open) return;
  const keys = { F8: () => desk && pace(!isPaused), F10: step };
  const does = event.key === "Enter" && (event.ctrlKey || event.metaKey) ? () => run() : keys[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});

async function begin() {
  view("program");
  buttons();
  try {
    programs = await (await fetched("programs/programs.json")).json();
    module = await engine("lib/agentspeak.wasm");
    checker = new Desk(() => undefined);
    await checker.ask("begin", { module, files: {} });
    part("program").replaceChildren(...programs.map(({ name, title }) => new Option(title, name)));
    await choose(query.get("program") ?? "hello");
    if (query.has("run")) await run();
  } catch (error) {
    state(error.message);
  }
}

void begin();

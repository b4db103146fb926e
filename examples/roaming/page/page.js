/** Page of the scout: the places, its present place, and its diary. Names of others are text, never HTML. */
import { join, LEASE_MS } from "./device.js";
import { keep, kept } from "./tab.js";

/** Time that a reloaded page waits until its name is free again. */
const PATIENCE_MS = 2 * LEASE_MS;
const AGAIN_MS = 500;

const part = (id) => document.getElementById(id);
const query = new URLSearchParams(location.hash.slice(1));
// A token does not stay where others can read it, or where it is bookmarked.
history.replaceState(null, "", location.pathname + location.search);
// An address that differs behind the # only loads nothing by itself.
addEventListener("hashchange", () => location.reload());

const anyName = () => `tab_${crypto.getRandomValues(new Uint32Array(1))[0].toString(36).slice(0, 3)}`;
const before = kept();
const token = query.get("token") ?? before.token ?? "";
let name = query.get("name") ?? before.name ?? anyName();
keep({ token, name });
let here;
let nodes = [];
let tabs = [];
let diary = [];
/** True if there is a scout; undefined until the first look. */
let isThere;
/** Place that the scout was called to, until it is there or says that it stays. */
let called;

const tell = (text) => (part("state").textContent = text);
const now = (text) => (part("now").textContent = text);
const make = (tag, text, properties = {}) => Object.assign(document.createElement(tag), { textContent: text, ...properties });

// ---- Places

/** Makes the button of a place. */
function button(place) {
  if (isThere === undefined) return make("button", "…", { disabled: true });
  if (!isThere) return make("button", "Begin here", { disabled: place !== name || called !== undefined, onclick: begin });
  if (diary[0]?.place === place) return make("button", "it is here", { disabled: true });
  return make("button", place === name ? "Call it here" : "Send it there", { disabled: called !== undefined, onclick: () => call(place) });
}

const cards = new Map();

/** Draws the places. Cards stay in place, and so does the focus. */
function drawPlaces() {
  const all = [...nodes, ...tabs.toSorted()];
  for (const [place, card] of cards) if (!all.includes(place)) card.remove(), cards.delete(place);
  for (const place of all) {
    const card = cards.get(place) ?? make("li", "", { className: "place" });
    const kind = place === name ? "this tab" : nodes.includes(place) ? "node" : "tab";
    const head = make("div", "");
    head.append(make("strong", place), make("small", kind));
    const wanted = button(place);
    const found = card.querySelector("button");
    if (found?.textContent !== wanted.textContent || found.disabled !== wanted.disabled) card.replaceChildren(head, wanted);
    card.classList.toggle("here", isThere === true && diary[0]?.place === place);
    if (!cards.has(place)) part("places").append(card);
    cards.set(place, card);
  }
  perch();
}

/** Puts the bird on the scout's place; a missing place leaves it in the air. */
function perch() {
  const card = isThere ? cards.get(diary[0]?.place) : undefined;
  part("bird").toggleAttribute("hidden", !isThere || diary.length === 0);
  if (!card) return;
  const [at, chart] = [card.getBoundingClientRect(), part("chart").getBoundingClientRect()];
  part("bird").style.transform = `translate(${at.left - chart.left + at.width / 2 - 32}px, ${at.top - chart.top - 42}px)`;
}

// ---- Diary

const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const span = (ms) => {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

function drawDiary() {
  part("empty").hidden = diary.length > 0;
  const rows = diary.map(({ place, arrived, steps, found }, at) => {
    const until = diary[at - 1]?.arrived ?? Math.max(arrived, Date.now());
    const row = make("tr", "");
    row.append(make("td", place), make("td", clock(arrived)), make("td", span(until - arrived)), make("td", String(steps)), make("td", found || (at === 0 ? "looking around" : "")));
    return row;
  });
  part("visits").replaceChildren(...rows);
}

// ---- What happens

function onNews(newNodes, newDiary) {
  const before = diary[0];
  [nodes, diary] = [newNodes, newDiary];
  const [latest] = diary;
  if (latest) isThere = true;
  if (latest && latest.place === called) called = undefined;
  if (latest && (latest.place !== before?.place || latest.arrived !== before?.arrived)) {
    now(before ? `It came from ${before.place} to ${latest.place}, in the middle of its plan.` : `The scout is at ${latest.place}.`);
  }
  drawPlaces();
  drawDiary();
}

function onStayed(place, why) {
  called = undefined;
  now(`It does not get to ${place}: ${why}`);
  drawPlaces();
}

async function onDevices(devices) {
  tabs = devices;
  isThere = await here?.isThere();
  drawPlaces();
}

async function begin() {
  called = name;
  drawPlaces();
  try {
    await here.begin();
    isThere = true;
  } catch (error) {
    now(error.message);
  }
  called = undefined;
  drawPlaces();
}

function call(place) {
  called = place;
  now(`on the way to ${place}`);
  try {
    here.send(place);
  } catch (error) {
    called = undefined;
    now(error.message);
  }
  drawPlaces();
}

/** Joins the platform. A reloaded page finds its name taken until its former session ends. If the name stays taken,
 * another tab has it, of which this one is a copy. */
async function joinAs(options) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    tell(`${name}: joining`);
    try {
      return await join({ ...options, token, name });
    } catch (error) {
      if (error.code !== "name-taken" || name !== before.name) throw error;
      if (Date.now() > until) keep({ name: (name = anyName()) });
      else await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

addEventListener("resize", perch);
try {
  here = await joinAs({
    onNews,
    onStayed,
    onDevices,
    onTrouble: now,
    onConnection: (isConnected) => tell(isConnected ? `this is ${name}` : `${name}: no connection, trying again`),
  });
  tell(`this is ${name}`);
  tell(`${name}: it is over, ${await here.ended}`);
} catch (error) {
  tell(`${name}: ${error.message}`);
}

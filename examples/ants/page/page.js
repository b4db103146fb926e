/** Page of the ants: the best tour, the contributors, and the form with which a device joins. Names of others are text,
 * never HTML. */
import { join } from "./device.js";

const part = (id) => document.getElementById(id);
const query = new URLSearchParams(location.hash.slice(1));
// A token does not stay where others can read it, or where it is bookmarked.
history.replaceState(null, "", location.pathname + location.search);
// An address that differs behind the # only loads nothing by itself.
addEventListener("hashchange", () => location.reload());

/** State that this tab keeps while it is open: a reloaded tab is the same device, and takes part again if it did. */
const KEY = "ants";
/** Time that a reloaded page waits until its name is free again: its former session ends after 20 s. */
const PATIENCE_MS = 25_000;
const AGAIN_MS = 1000;
const before = kept();
const token = query.get("token") ?? before.token ?? "";
keep({ token });

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function keep(what) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...kept(), ...what }));
  } catch {
    // The browser keeps nothing.
  }
}

const cores = navigator.hardwareConcurrency ?? 2;

part("name").value = query.get("name") ?? before.name ?? `device-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
part("workers").max = cores;
part("workers").value = query.get("workers") ?? before.workers ?? Math.max(1, Math.floor(cores / 2));
part("count").textContent = part("workers").value;
part("workers").oninput = () => (part("count").textContent = part("workers").value);

let best;

function color(name) {
  // Custom properties are not resolved by themselves where two schemes are given.
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function draw() {
  const canvas = part("tour");
  const scale = devicePixelRatio;
  const { width, height } = canvas.getBoundingClientRect();
  [canvas.width, canvas.height] = [width * scale, height * scale];
  if (best === undefined) return;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const [xs, ys] = [0, 1].map((axis) => best.cities.map((city) => city[axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const margin = 14;
  const [wide, high] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const zoom = Math.min((width - 2 * margin) / wide, (height - 2 * margin) / high);
  const [aside, below] = [(width - wide * zoom) / 2, (height - high * zoom) / 2];
  const at = ([x, y]) => [aside + (x - left) * zoom, height - below - (y - top) * zoom];
  pen.lineWidth = 2;
  pen.lineJoin = "round";
  pen.strokeStyle = color("--trail");
  pen.beginPath();
  best.tour.forEach((place) => pen.lineTo(...at(best.cities[place])));
  pen.closePath();
  pen.stroke();
  pen.fillStyle = color("--ink");
  for (const city of best.cities) {
    pen.beginPath();
    pen.arc(...at(city), 3, 0, 2 * Math.PI);
    pen.fill();
  }
}

function list(devices) {
  const most = Math.max(1, ...devices.map(({ parts }) => parts));
  const rows = [...devices].sort((one, other) => other.parts - one.parts).map(({ device, parts }) => {
    const row = document.createElement("li");
    row.classList.toggle("own", device === part("name").value);
    const bar = document.createElement("i");
    bar.style.transform = `scaleX(${parts / most})`;
    const [name, count] = [device, parts].map((text) => Object.assign(document.createElement("span"), { textContent: text }));
    row.append(bar, name, count);
    return row;
  });
  part("devices").replaceChildren(...rows);
}

function show(news) {
  best = news;
  part("hint").hidden = true;
  part("problem").textContent = `the shortest round trip through the ${news.cities.length} places of ${news.problem}`;
  part("length").textContent = news.length ?? "–";
  part("shortest").textContent = news.shortest;
  part("who").textContent = news.length === undefined ? "–" : news.who;
  part("searched").textContent = news.searched;
  list(news.devices);
  draw();
}

let connected = "";
const tell = (text) => (part("state").textContent = text);

/** Joins the platform. A reloaded page finds its name taken until its former session ends. */
async function joinAs(options) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await join(options);
    } catch (error) {
      if (error.code !== "name-taken" || options.name !== before.name || Date.now() > until) throw error;
      tell("joining, once this device's session of before is over");
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

part("join").onsubmit = async (event) => {
  event.preventDefault();
  const [name, workers] = [part("name").value, Number(part("workers").value)];
  for (const control of part("join").elements) control.disabled = true;
  tell("joining");
  try {
    const device = await joinAs({
      name,
      workers,
      token,
      onBest: show,
      onTrouble: tell,
      onPart: (done) => tell(`${connected}${done} searches done here`),
      onConnection: (isConnected) => {
        connected = isConnected ? "" : "no connection, trying again; ";
        tell(isConnected ? "connected" : connected);
      },
    });
    tell(`joined with ${device.units} compute units`);
    keep({ name, workers, isIn: true });
    const why = await device.ended;
    keep({ isIn: false });
    tell(`it is over: ${why}`);
  } catch (error) {
    tell(error.message);
    for (const control of part("join").elements) control.disabled = false;
  }
};

addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
if (query.has("join") || (before.isIn && part("name").value === before.name)) part("join").requestSubmit();

/** Worker that runs a society of AgentSpeak agents in a thread of its own, and reports its events to the page. The page
 * stays quick, and can end the society at any time. */
import { attachSociety, ProgramError, Society } from "./lib/agentspeak.js";
import { connect } from "./lib/whimbrel.js";

/** Interval between two reports. */
const TELL_MS = 50;
/** Maximal number of lines and messages in a report; the page gets the count of the others. */
const TOLD_MAX = 500;

let society;
let told = [];
let left = 0;
let isPaused = false;
let stepping;
/** Platform that the society is part of, and the function that leaves it. */
let joined;
/** Attempt to join a platform, and the number of attempts: all but the last were cancelled. */
let joining;
let joins = 0;

const post = (news) => self.postMessage(news);

function tell(type, news) {
  if (told.length < TOLD_MAX) told.push({ type, at: Date.now(), ...news });
  else left++;
}

setInterval(() => {
  if (told.length > 0) post({ type: "happened", happened: told.splice(0), left });
  left = 0;
}, TELL_MS);

/** Begins a society with these files, without agents. */
async function begin({ module, files }) {
  society = await Society.load(module, { platform: "classroom" });
  society.putFiles(files);
  society.listen(true);
  society.on("printed", ({ agent, text }) => tell("printed", { agent, text }));
  society.on("noted", ({ agent, level, text }) => level !== "debug" && tell("noted", { agent, level, text }));
  society.on("said", (said) => tell("said", said));
  society.on("created", ({ agent }) => {
    tell("created", { agent });
    if (isPaused) instruct(agent, "pause");
  });
  society.on("ended", ({ agent, reason }) => tell("ended", { agent, reason }));
  society.on("stopped", ({ code }) => tell("stopped", { code }));
  society.on("failed", ({ message }) => tell("failed", { text: message }));
}

function instruct(agent, wanted) {
  try {
    society.instruct(agent, wanted);
  } catch {
    // The society ended meanwhile.
  }
}

const all = () => (society && !society.isOver ? society.agents : []);

/** Pauses all agents, lets them continue, or has them take so many cycles a second. */
function pace({ paused, perSecond }) {
  clearInterval(stepping);
  isPaused = paused || perSecond > 0;
  for (const { name } of all()) instruct(name, isPaused ? "pause" : "continue");
  if (!paused && perSecond > 0) stepping = setInterval(step, 1000 / perSecond, {});
}

function step({ agent }) {
  for (const { name } of all()) if (agent === undefined || agent === name) instruct(name, "step");
}

/** Returns the inspection of an agent, and the names of the others. */
function look({ agent }) {
  const agents = all();
  const isThere = agents.some(({ name }) => name === agent);
  return { agents, counters: society && !society.isOver ? society.counters : undefined, mind: isThere ? society.mind(agent, { follow: true }) : undefined };
}

async function join({ url, token }) {
  const own = ++joins;
  const platform = await connect(url, { token });
  let [attached, refused, leave] = [0, "there is no agent here"];
  try {
    if (own === joins) {
      leave = await attachSociety(society, platform, {
        onAttached: (agent, member) => {
          attached++;
          tell("seated", { agent, name: member.aid.toString() });
        },
        onError: (agent, error) => {
          refused = `${agent}: ${error.message}`;
          tell("noted", { agent, level: "warning", text: error.message });
        },
      });
    }
    if (own !== joins) throw new Error("it was taken back");
    if (attached === 0) throw new Error(refused);
  } catch (error) {
    await leave?.();
    await platform.close();
    throw error;
  }
  joined = { platform, leave };
  void platform.closed.then((why) => {
    joined = undefined;
    post({ type: "detached", why: why.code === "bye" ? "" : why.message });
  });
  return platform.name;
}

function attach(where) {
  joining = join(where);
  return joining;
}

/** Leaves the platform, or cancels an attempt to join one. */
async function detach() {
  joins++;
  await joining?.catch(() => undefined);
  if (!joined) return;
  const { platform, leave } = joined;
  await leave();
  await platform.close();
}

const orders = {
  begin,
  pace,
  step,
  look,
  attach,
  detach,
  open: ({ path }) => society.open(path).then(({ agents, diagnostics }) => ({ agents, diagnostics })),
  check: async ({ files, path }) => {
    society.putFiles(files);
    return society.check(path);
  },
  pursue: ({ agent, goal }) => society.instruct(agent, { pursue: { goal } }),
  believe: ({ agent, belief, add }) => society.instruct(agent, { believe: { belief, add } }),
};

self.onmessage = async ({ data: { id, order, ...rest } }) => {
  try {
    post({ type: "answer", id, answer: await orders[order](rest) });
  } catch (error) {
    post({ type: "answer", id, error: error.message, diagnostics: error instanceof ProgramError ? error.diagnostics : undefined });
  }
};

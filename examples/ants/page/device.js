/**
 * This page as a device of the platform: an agent that says what it can do, takes parts of work from the agent `devices`, and has its
 * workers do them.
 */
import { connect, isTerm, term, textOf } from "/sdk/whimbrel.js";

/** What a device's speed is measured by. */
const PRIMES_TO = 20_000;
const MEASURE_MS = 60;

/** Compute units: how often the primes up to some number can be found in a time, by brute force. The best of a few tries counts. */
export function computeUnits() {
  const tries = Array.from({ length: 3 }, () => {
    const until = performance.now() + MEASURE_MS;
    let numbers = 0;
    for (let candidate = 2; performance.now() < until; candidate = (candidate + 1) % PRIMES_TO) {
      let divisor = 2;
      while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++;
      numbers++;
    }
    return numbers / MEASURE_MS;
  });
  return Math.max(1, Math.round(Math.max(...tries)));
}

/** Workers, and who waits for what from them. */
class Workers {
  #idle = [];
  #open = new Map();
  #tickets = 0;
  #waiting = [];

  constructor(count) {
    for (let at = 0; at < count; at++) {
      const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
      worker.onmessage = ({ data: { ticket, found, why } }) => {
        const { resolve, reject } = this.#open.get(ticket);
        this.#open.delete(ticket);
        this.#idle.push(worker);
        this.#waiting.shift()?.();
        if (found) resolve(found);
        else reject(new Error(why));
      };
      this.#idle.push(worker);
    }
  }

  async search(part) {
    if (this.#idle.length === 0) await new Promise((resolve) => this.#waiting.push(resolve));
    const worker = this.#idle.pop();
    const ticket = this.#tickets++;
    return new Promise((resolve, reject) => {
      this.#open.set(ticket, { resolve, reject });
      worker.postMessage({ ticket, ...part });
    });
  }
}

/**
 * Joins. `onBest` is told of each best tour that the colony publishes, `onPart` of how many parts this device has done.
 */
export async function join({ token, name, workers: count, onBest, onPart, onRefused, onConnection }) {
  const platform = await connect(location.origin, { token, patienceMs: 30_000 });
  platform.onConnection(onConnection);
  const workers = new Workers(count);
  const units = computeUnits() * count;
  let done = 0;
  const agent = await platform.create(name, async (agent) => {
    agent.onMessage({ performative: "request", sender: "devices" }, async (message) => {
      const [kind, part] = isTerm(message.content, "share", 2) ? message.content.args : [];
      if (textOf(kind) !== "ants" || !isTerm(part, "search", 5)) return agent.reply(message, "not-understood", "share(ants, search(...)) is expected");
      const [, cities, known, seed, rounds] = part.args;
      try {
        const { length, tour } = await workers.search({ cities, known, seed, rounds });
        agent.reply(message, "inform", term("found", length, tour));
        onPart(++done);
      } catch (error) {
        agent.reply(message, "failure", error.message);
      }
    });
    agent.onMessage({ performative: "refuse" }, ({ sender, content }) => onRefused(`${sender.name} refuses: ${textOf(content)}`));
    agent.onMessage((message) => {
      if (!isTerm(message.content, "best", 8)) return;
      const [problem, shortest, cities, length, tour, who, searched, gave] = message.content.args;
      const devices = gave.map(({ args: [device, parts] }) => ({ device: textOf(device), parts: Number(parts) }));
      onBest({ problem: textOf(problem), shortest, cities, length: typeof length === "number" ? length : undefined, tour, who: textOf(who), searched, devices });
    });
    await agent.ams.join("topic:ants");
  });
  const describe = async () => {
    const battery = await navigator.getBattery?.().catch(() => undefined);
    const content = [
      term("units", units),
      term("places", count),
      term("visible", document.visibilityState === "visible"),
      term("kinds", ["ants"]),
      ...(battery ? [term("battery", Math.round(battery.level * 100), battery.charging)] : []),
    ];
    agent.send({ performative: "inform", receivers: ["devices"], content });
  };
  await describe();
  document.addEventListener("visibilitychange", () => void describe());
  return { units, ended: agent.ended };
}

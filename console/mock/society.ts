/** Mock of a society with any number of agents and their contract nets, for demonstrations and tests of the console. */
import type { AgentActivity, AgentInfo, AgentKind, AgentState, CertificateInfo, CodeInfo, DeviceInfo, EndInfo, Event, MessageInfo, MindInfo, NodeInfo, OutputEntry, OutputFound, OutputWanted, SecurityInfo, UsageInfo } from "../src/live/vocabulary.js";
import { patternFits } from "../src/model/pattern.js";
import { MockMind } from "./mind.js";

export interface SocietyOptions {
  readonly agents: number;
  readonly messagesPerS: number;
  readonly nodes: number;
  readonly seed: number;
  /** True for a society in which nothing happens, and some agents wait for ever. */
  readonly still: boolean;
  /** True to include agents and contents that attack the console. */
  readonly hostile: boolean;
}
export const SMALL: SocietyOptions = { agents: 60, messagesPerS: 12, nodes: 3, seed: 7, still: false, hostile: false };

/** Attacks by agents. Each must show up as plain text. */
export const HOSTILE = [
  `<script>window.pwned=1</script>`,
  `<img src=x onerror="window.pwned=1">`,
  `javascript:window.pwned=1`,
  `"><svg onload=window.pwned=1>`,
  `\u001b[31mred\u001b[0m\u0007`,
  `\u202egnp.exe\u202c`,
  `{{constructor.constructor('window.pwned=1')()}}`,
  `__proto__`,
  `x`.repeat(10_000),
];

interface Agent {
  readonly name: string;
  readonly kind: AgentKind;
  readonly born: number;
  node: string;
  device?: string | undefined;
  state: AgentState;
  mailbox: number;
  handled: number;
  activity?: AgentActivity;
  /** Program that was loaded instead of its own. */
  program?: string;
}

/** A message to send, and the messages that follow it. */
interface Step {
  readonly message: MessageInfo;
  readonly then?: () => Step[];
  readonly died?: string;
}

const JOBS = ["paint", "carry", "weld", "survey", "ferry", "mend", "count", "brew"];
const PLACES = ["pier", "mudflat", "lagoon", "dune", "harbour", "estuary"];

/** Mulberry32: the same seed gives the same society. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  };
}

export class MockSociety {
  readonly agents = new Map<string, Agent>();
  readonly changed = new Set<string>();
  readonly deadLetters: Event[] = [];
  readonly log: Event[] = [];
  readonly minds = new Map<string, MockMind>();
  readonly nodeNames: readonly string[];
  readonly startedMs = Date.now();
  sent = 0;
  handled = 0;
  dead = 0;
  printed = 0;
  faults = 0;
  ended: EndInfo | undefined;
  readonly output: OutputEntry[] = [];
  draining = new Set<string>();
  readonly #random: () => number;
  readonly #clusters: { readonly initiator: string; readonly contractors: readonly string[] }[] = [];
  readonly #waiting: Step[] = [];
  #conversations = 0;
  #due = 0;

  constructor(readonly options: SocietyOptions) {
    this.#random = randomOf(options.seed);
    this.nodeNames = Array.from({ length: options.nodes }, (_, index) => `n${index + 1}`);
    this.#populate();
  }

  #populate(): void {
    const { agents, hostile } = this.options;
    const names = hostile ? [...HOSTILE] : [];
    const kinds: readonly (readonly [string, AgentKind, number])[] = [["initiator", "agentspeak", 1], ["contractor", "agentspeak", 8], ["sensor", "wasm", 2], ["courier", "native", 1], ["tab", "session", 1]];
    while (names.length < agents) {
      const index = Math.floor(names.length / 13);
      for (const [word, , many] of kinds) for (let of = 0; of < many && names.length < agents; of++) names.push(many === 1 ? `${word}${index + 1}` : `${word}${index * many + of + 1}`);
    }
    names.forEach((name, index) => {
      const kind = kinds.find(([word]) => name.startsWith(word))?.[1] ?? "native";
      const node = this.nodeNames[Math.floor((index / names.length) * this.nodeNames.length)] ?? "n1";
      this.agents.set(name, { name, kind, node, born: this.startedMs, state: index % 97 === 41 ? "suspended" : "active", mailbox: 0, handled: 0 });
      if (name.startsWith("initiator")) this.minds.set(name, new MockMind(name));
    });
    for (let first = 0; first < names.length; first += 13) {
      const [initiator, ...contractors] = names.slice(first, first + 13);
      if (initiator !== undefined && contractors.length > 0) this.#clusters.push({ initiator, contractors });
    }
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }

  /** Returns the messages of the next `ms` milliseconds. */
  advance(ms: number, nowMs: number): Event[] {
    if (this.ended || this.options.still) return [];
    this.#due += (ms / 1000) * this.options.messagesPerS;
    const events: Event[] = [];
    for (; this.#due >= 1; this.#due--) {
      if (this.#waiting.length === 0 || (this.#waiting.length < 200 && this.#random() < 0.08)) this.#waiting.push(...this.#contractNet());
      // Answers overtake each other slightly.
      const index = Math.floor(this.#random() ** 2 * Math.min(this.#waiting.length, 12));
      const [step] = this.#waiting.splice(index, 1);
      if (step) events.push(this.#say(step, nowMs * 1000 + events.length * Math.floor((ms * 1000) / 300)));
    }
    return events;
  }

  #say({ message, then, died }: Step, at_us: number): Event {
    const from = this.agents.get(message.from);
    const to = this.agents.get(message.to);
    this.sent++;
    const node = from?.node ?? "n1";
    const why = died ?? (to === undefined ? "no such agent" : undefined);
    const event: Event = why === undefined ? { at_us, node, event: "sent", ...message } : { at_us, node, event: "died", ...message, why };
    if (event.event === "died") {
      this.dead++;
      this.deadLetters.push(event);
      if (this.deadLetters.length > 500) this.deadLetters.shift();
    } else if (to && to.state === "active") {
      this.handled++;
      to.handled++;
      this.changed.add(to.name);
    } else if (to) {
      to.mailbox++;
      this.changed.add(to.name);
    }
    if (this.options.messagesPerS <= 200) this.log.push(event);
    if (then) this.#waiting.push(...then());
    this.minds.get(message.to)?.hear(message);
    if (why === undefined && message.performative === "inform") this.print(message.to, "printed", `${message.from} did ${message.content.slice(0, 60)}`);
    if (why === undefined && message.performative === "failure") this.print(message.to, "warning", `No failure event was generated for +!award(${message.conversation})\n  intention 4:\n    +!award(N) in plan @award, initiator.asl:21\n    +!round(7) in plan @p2, initiator.asl:14`);
    return event;
  }

  /** Adds a line of output. */
  print(agent: string, kind: OutputEntry["kind"], text: string): void {
    if (kind === "printed") this.printed++;
    else this.faults++;
    this.output.push({ number: this.printed + this.faults, at_us: Date.now() * 1000, agent, kind, text });
    if (this.output.length > OUTPUT_MAX) this.output.shift();
  }

  outputOf({ since = 0, agents = [], faults = false }: OutputWanted, limit: number): OutputFound {
    const fits = (line: OutputEntry) => line.number > since && (!faults || line.kind !== "printed") && (agents.length === 0 || agents.some((pattern) => patternFits(pattern, line.agent)));
    const lines = this.output.filter(fits);
    return { lines: lines.slice(-limit), next: this.printed + this.faults, left_out: Math.max(0, lines.length - limit), printed: this.printed, faults: this.faults };
  }

  /** Ends the society; the node stays. */
  end(code = 0): void {
    this.ended = { at_us: Date.now() * 1000, code, agents: this.agents.size, queued: this.sent - this.handled - this.dead };
    for (const name of this.agents.keys()) this.changed.add(name);
    this.agents.clear();
  }

  #contractNet(): Step[] {
    const { initiator, contractors } = this.#pick(this.#clusters);
    const conversation = `job-${++this.#conversations}`;
    const job = `${this.#pick(JOBS)}(${this.#pick(PLACES)}, ${1 + Math.floor(this.#random() * 40)})`;
    const base = { conversation, protocol: "fipa-contract-net", in_reply_to: null, reply_with: null };
    const invited = contractors.filter(() => this.#random() < 0.45).slice(0, 5);
    if (this.options.hostile && this.#random() < 0.5) return [{ message: { ...base, from: this.#pick(HOSTILE), to: initiator, performative: this.#pick(["inform", HOSTILE[0] ?? ""]), content: this.#pick(HOSTILE) } }];
    if (this.#random() < 0.04) return [{ message: { ...base, from: initiator, to: `${this.#pick(contractors)}x`, performative: "request", content: `status(${job})` }, died: "no such agent" }];
    let best = -1;
    return invited.map((contractor, index): Step => {
      const reply_with = `${conversation}.${index}`;
      const answer = { ...base, from: contractor, to: initiator, in_reply_to: reply_with };
      const order = { ...base, from: initiator, to: contractor };
      const bid = (): Step[] => {
        if (this.#random() < 0.2) return [{ message: { ...answer, performative: "refuse", content: `busy(${job}, until(${12 + Math.floor(this.#random() * 12)}))` } }];
        const price = 10 + Math.floor(this.#random() * 90);
        const wins = best < 0;
        best = wins ? index : best;
        const done = (): Step[] =>
          this.#random() < 0.06
            ? [{ message: { ...answer, performative: "failure", content: `failed(${job}, "the tide came in")` } }]
            : [{ message: { ...answer, performative: "inform", content: `done(${job}, report([started(${price}), hours([3, 5, 8]), crew(["ada", "bruno", "chloe"]), cost(total(${price}), currency(eur))]))` } }];
        const decided = (): Step[] => [{ message: { ...order, performative: wins ? "accept-proposal" : "reject-proposal", content: `offer(${job}, ${price})` }, ...(wins && { then: done }) }];
        return [{ message: { ...answer, performative: "propose", content: `offer(${job}, ${price})` }, then: decided }];
      };
      const more = { others: invited.filter((other) => other !== contractor), language: "fipa-sl", ontology: "harbour", user: [["X-shift", "late"]] as const };
      return { message: { ...order, reply_with, performative: "cfp", content: `task(${job})`, more }, then: bid };
    });
  }

  #activityOf(agent: Agent): AgentActivity {
    if (this.minds.get(agent.name)?.paused) return "paused";
    return agent.activity ?? (this.options.still ? (agent.name.startsWith("initiator") ? "waits" : "idle") : agent.name.startsWith("initiator") ? "active" : "idle");
  }

  info(agent: Agent): AgentInfo {
    return { name: agent.name, kind: kindOf(agent), state: agent.state, ending: false, node: agent.node, ...(agent.device !== undefined && { device: agent.device }), owner: null, age_ms: Date.now() - agent.born, mailbox: agent.mailbox, handled: agent.handled, passive: false, activity: this.#activityOf(agent), ...(agent.kind === "agentspeak" && { program: agent.program ?? `${agent.name.replace(/\d+$/, "")}.asl` }) };
  }

  /** Returns the first tabs as devices in different states. */
  devices(): DeviceInfo[] {
    const tabs = [...this.agents.values()].filter(({ name, kind }) => kind === "session" && name.startsWith("tab")).slice(0, 4);
    return tabs.map(({ name, node }, index): DeviceInfo => {
      const agents = [...this.agents.values()].filter(({ device }) => device === name).length;
      const [units, visible] = [1_200 * (index + 1), index !== 1];
      const battery = index === 2 ? { percent: 12, charging: false } : index === 3 ? { percent: 64, charging: true } : null;
      const units_now = index === 2 ? 0 : visible ? units : units / 8;
      return { name, node, units, units_now, workers: index + 1, taken: index % 3, visible, battery, kinds: ["ants"], agents, shunned: false };
    });
  }

  /** Moves an agent. Returns the reason of a refusal. */
  move(agent: Agent, to: string): string | null {
    const isDevice = this.devices().some(({ name }) => name === to);
    if (!isDevice && !this.nodeNames.includes(to)) return `${agent.name} stays: there is no node named ${to}`;
    if (isDevice && agent.kind === "native") return `${agent.name} stays: no client could find its code`;
    agent.device = isDevice ? to : undefined;
    agent.node = isDevice ? "n1" : to;
    return null;
  }

  codes(): { codes: CodeInfo[]; kept_bytes: number; kept_bytes_max: number } {
    const code = (name: string | null, form: string, own: boolean, more: Partial<CodeInfo>): CodeInfo => ({ code: (name ?? "kept").split("").map((c) => c.charCodeAt(0).toString(16)).join("").padEnd(64, "0"), name, form, own, loaded: name !== null, bytes: 2_345, compiled_bytes: null, agents: 0, hits: 0, ...more });
    const many = (kind: AgentKind) => [...this.agents.values()].filter((agent) => agent.kind === kind).length;
    const codes = [code("contractor.asl", "agentspeak", true, { agents: many("agentspeak") }), code("sensor.wasm", "wasm", false, { agents: many("wasm"), bytes: 48_300, compiled_bytes: 190_000, hits: 12 }), code(null, "wasm", false, { bytes: 11_000 })];
    return { codes, kept_bytes: 1_234_567, kept_bytes_max: 268_435_456 };
  }

  security(): SecurityInfo {
    const day = 86_400_000;
    const certificate = (of: string, subject: string, days: number, revoked = false): CertificateInfo => ({ of, subject, issuer: "CN=estuary authority", serial: `0${days}a7`, from_ms: this.startedMs - 10 * day, until_ms: this.startedMs + days * day, revoked });
    return {
      level: "signed",
      certificates: [certificate("node", "n1.node.whimbrel, node.whimbrel", 20), certificate("authority", "CN=estuary authority", 3_000), certificate("session", "whimbrel://estuary/n1/tab1", -1), certificate("agent", "whimbrel://estuary/n1/sensor1", 1, true)],
      revoked: [{ serial: "01a7", at_ms: this.startedMs }],
      refusals: [{ reason: "forbidden", count: 12 }, { reason: "bad_token", count: 3 }],
      audit: "/var/log/whimbrel/audit.jsonl",
    };
  }

  quotas(limit: number): { agents: UsageInfo[]; total: number; owners: UsageInfo[] } {
    const sensors = [...this.agents.values()].filter(({ kind }) => kind === "wasm");
    const agents = sensors.map(({ name }, index): UsageInfo => ({ name, owner: "initiator1 of node n2", quotas: [{ name: "memory_bytes", used: 65_536 * (index + 1), max: 1_048_576 }, { name: "cpu_ms_per_s", used: 96 - (index % 90), max: 100 }, { name: "messages_per_s", used: index, max: 200 }, { name: "storage_bytes", used: 12, max: 4_096 }] }));
    return { agents: agents.slice(0, limit), total: agents.length, owners: [{ name: "initiator1 of node n2", quotas: [{ name: "owner_memory_bytes", used: 655_360, max: null }, { name: "owner_clones", used: 2, max: 16 }] }] };
  }

  node(): NodeInfo {
    const queued = this.sent - this.handled - this.dead;
    return {
      platform: "whimbrel", node: "n1", society: "estuary", pid: process.pid, version: "0.1.0", started_ms: this.startedMs, up_us: (Date.now() - this.startedMs) * 1000,
      agents: this.agents.size, sent: this.sent, handled: this.handled, dead: this.dead, queued, came: 0, left: 0, printed: this.printed, faults: this.faults, ...(this.ended && { ended: this.ended }),
      memory_bytes: process.memoryUsage.rss(), security: "tls", address: "127.0.0.1:7001", peers: this.nodeNames.slice(1).map((node) => ({ node, address: null })),
    };
  }

  /** Returns a node's share of the figures, by its agents. */
  nodeAt(name: string): NodeInfo {
    const all = this.node();
    const agents = [...this.agents.values()].filter(({ node }) => node === name).length;
    const share = (many: number): number => Math.floor((many * agents) / Math.max(1, all.agents));
    return { ...all, node: name, agents, sent: share(all.sent), handled: share(all.handled), dead: share(all.dead), queued: share(all.queued) };
  }

  mind(name: string): MindInfo | null {
    const agent = this.agents.get(name);
    if (!agent) return null;
    const mind = this.minds.get(name);
    return mind && agent.device === undefined ? mind.info(agent.state) : { agent: name, kind: kindOf(agent), state: agent.state };
  }

  create(name: string, like: Agent): void {
    this.agents.set(name, { ...like, name, born: Date.now(), handled: 0, mailbox: 0 });
    this.changed.add(name);
  }
}

/** Maximum number of lines of output. */
const OUTPUT_MAX = 2_000;

/** Returns the kind of an agent. On a device it is an agent of a session. */
function kindOf({ kind, device }: Agent): AgentKind {
  return device === undefined ? kind : "session";
}

/** Mock of a node: serves the built console and speaks the live protocol for a mock society. */
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { WebSocketServer, type WebSocket } from "ws";
import type { Answer, Event, LogLine, LogWanted, MemberInfo, Request, SniffWanted, SubscriptionInfo, Watch } from "../src/live/vocabulary.js";
import { compareNames } from "../src/model/agents.js";
import { patternFits } from "../src/model/pattern.js";
import { ALL_EVENTS, takes } from "../src/model/recording.js";
import { SOURCE } from "./mind.js";
import { MockSociety, SMALL, type SocietyOptions } from "./society.js";

export const TYPES: Readonly<Record<string, string>> = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2" };
/** Content security policy under which nodes serve the console. */
export const POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
export const TOKEN = "mock";
/** Watches of one socket at a time, as on a node. */
const WATCHES_MAX = 64;

interface WatchState {
  watch: Watch;
  readonly takes: (event: Event) => boolean;
  everyMs: number;
  dueMs: number;
  traffic: Map<string, number>;
  told: string;
}

const NOTHING = { protocols: [], ontologies: [], languages: [] };
/** Subscriptions in each node's DF. */
const SUBSCRIPTIONS: readonly SubscriptionInfo[] = [
  { subscriber: "initiator1", conversation: null, agent: null, services: [{ name: "", kind: "contractor", owner: null, properties: [["price", "2"]], ...NOTHING }], ...NOTHING },
  { subscriber: "courier1", conversation: "c-42", agent: null, services: [], ...NOTHING },
];

export class MockNode {
  readonly society: MockSociety;
  /** Received requests that change something, for tests. */
  readonly orders: Request[] = [];
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #clients = new Map<WebSocket, Map<number, WatchState>>();
  readonly #sent: [number, number][] = [];
  /** True to send nothing, like a network that drops packets silently. */
  isMute = false;
  /** Answers to moves that are held. */
  #held: (() => void)[] | undefined;
  /** Holds moves, so that a test sees agents under way. */
  hold(): void {
    this.#held = [];
  }
  /** Lets held moves arrive. */
  release(): void {
    for (const answer of this.#held ?? []) answer();
    this.#held = undefined;
  }
  /** True if other nodes keep no log. */
  hasNoLogs = false;
  /** Faults that the node reports. */
  wrong: string[] = [];
  /** Tells all consoles that the node stops, and closes their sockets. */
  stop(): void {
    for (const socket of this.#clients.keys()) socket.send(JSON.stringify({ type: "ended", text: "the node stops" }));
    for (const socket of this.#clients.keys()) socket.close(1001, "the node stops");
  }

  /** Messages between two agents, in total. */
  readonly #pairs = new Map<string, number>();

  constructor(private readonly folder: string, options: Partial<SocietyOptions> = {}, private readonly features: readonly string[] = ["log", "mind", "clone", "spawn", "mobility", "security", "upkeep", "certificates", "audit", "conversations", "subscriptions", "totals", "at", "output", "events", "programs", "line_breakpoints", "activity", "query"]) {
    this.society = new MockSociety({ ...SMALL, ...options });
  }

  async listen(port = 0): Promise<string> {
    const server = createServer((request, response) => void this.#serve(request.url ?? "/").then(([status, type, body]) => {
      response.writeHead(status, { "content-type": type, "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
      response.end(body);
    }));
    const sockets = new WebSocketServer({ server, path: "/api/v1/live", handleProtocols: () => "whimbrel.live.v1", perMessageDeflate: false });
    sockets.on("connection", (socket) => this.#meet(socket));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    this.#server = server;
    let last = Date.now();
    this.#timer = setInterval(() => {
      const now = Date.now();
      this.#tick(now - last, now);
      last = now;
    }, 50);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#clients.keys()) socket.terminate();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.cut();
    this.#server?.closeAllConnections();
    await new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()));
  }

  async #serve(url: string): Promise<[number, string, Uint8Array | string]> {
    const path = normalize(new URL(url, "http://x").pathname);
    const file = path === "/" ? "/index.html" : path;
    try {
      return [200, TYPES[extname(file)] ?? "application/octet-stream", await readFile(join(this.folder, file))];
    } catch {
      return [404, "text/plain", "not found"];
    }
  }

  #meet(socket: WebSocket): void {
    const watches = new Map<number, WatchState>();
    socket.on("close", () => this.#clients.delete(socket));
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as { type: string; id: number; token?: string; request: Request } & Watch;
      if (frame.type === "hello") {
        if (frame.token !== TOKEN) {
          socket.send(JSON.stringify({ type: "error", reason: "bad_token", text: "this token is not known here" }));
          socket.close();
          return;
        }
        this.#clients.set(socket, watches);
        socket.send(JSON.stringify({ type: "welcome", role: "admin", node: this.society.node(), features: this.features }));
      } else if (frame.type === "ask") {
        const answer = () => this.isMute || socket.send(JSON.stringify({ type: "answer", id: frame.id, answer: this.#answer(frame.request) }));
        if (frame.request.request === "move" && this.#held) this.#held.push(answer);
        else if (frame.request.request === "move") setTimeout(answer, JOURNEY_MS);
        else answer();
      } else if (frame.type === "watch") {
        this.#watch(socket, watches, frame.id, frame);
      } else if (frame.type === "unwatch") {
        watches.delete(frame.id);
      }
    });
  }

  #watch(socket: WebSocket, watches: Map<number, WatchState>, id: number, watch: Watch): void {
    if (watch.what === "log" && !this.features.includes("log")) {
      socket.send(JSON.stringify({ type: "refused", id, reason: "no_log", text: "this node keeps no log" }));
      return;
    }
    const wanted: SniffWanted = watch.what === "events" || watch.what === "log" ? watch.wanted : {};
    const filter = { ...ALL_EVENTS, agents: (wanted.agents ?? []).join(" "), performatives: wanted.performatives ?? [], conversation: wanted.conversation ?? "" };
    if (watches.size >= WATCHES_MAX) {
      socket.send(JSON.stringify({ type: "refused", id, reason: "busy", text: `${WATCHES_MAX} watches are the maximum: end one` }));
      return;
    }
    const watching: WatchState = { watch, takes: takes(filter), everyMs: "every_ms" in watch ? watch.every_ms : 50, dueMs: 0, traffic: new Map(), told: "" };
    watches.set(id, watching);
    if (watch.what === "log") {
      const lines = this.society.log.flatMap((event, index): LogLine[] => (index + 1 > watch.wanted.since && watching.takes(event) ? [{ number: index + 1, ...event }] : []));
      socket.send(JSON.stringify({ type: "log", id, lines }));
    }
    if (watch.what === "agents") this.#agents(socket, id, watch);
  }

  /**
   * Returns lines of another node's log: an answer to a conversation's first message, or the messages of a pilot, two a
   * second.
   */
  #heardAt(node: string, { since, conversation, since_us = 0 }: LogWanted): { lines: LogLine[]; next: number; complete: boolean } {
    if (conversation == null) {
      const from = Math.max(since, Math.floor((since_us / 1000 - this.society.startedMs) / PILOT_MS));
      const upto = Math.floor((Date.now() - this.society.startedMs) / PILOT_MS);
      const at = (number: number): LogLine => ({ number, node, at_us: (this.society.startedMs + number * PILOT_MS) * 1000, event: "sent", from: `pilot-${node}`, to: `ferry-${node}`, performative: "inform", conversation: null, protocol: null, reply_with: null, in_reply_to: null, content: `depth(${number % 9})` });
      return { lines: Array.from({ length: Math.max(0, upto - from) }, (_, index) => at(from + index + 1)), next: Math.max(since, upto), complete: true };
    }
    const first = this.society.log.find((event) => event.event === "sent" && event.conversation === conversation);
    const lines = since === 0 && first?.event === "sent" ? [{ ...first, number: 1, node, at_us: first.at_us + 1, from: first.to, to: first.from, performative: "agree", content: `heard(${node})` }] : [];
    return { lines, next: Math.max(since, lines.length), complete: true };
  }

  /** Returns new messages of a pilot on another node. */
  #eventsAt(node: string, since: number): { events: Event[]; next: number } {
    const { lines, next } = this.#heardAt(node, { since: since || Math.floor((Date.now() - this.society.startedMs) / PILOT_MS), follow: false });
    return { events: lines, next };
  }

  #agents(socket: WebSocket, id: number, watch: Watch & { what: "agents" }): void {
    const found = [...this.society.agents.values()].filter((agent) => !watch.wanted.name || patternFits(watch.wanted.name, agent.name));
    const agents = found.sort((a, b) => compareNames(a.name, b.name)).slice(0, watch.wanted.limit).map((agent) => this.society.info(agent));
    socket.send(JSON.stringify({ type: "agents", id, total: found.length, agents }));
  }

  #tick(ms: number, now: number): void {
    const events = this.society.advance(Math.min(ms, 500), now);
    this.#sent.push([now, events.length]);
    for (const event of events) if (event.event === "sent") count(this.#pairs, `${event.from}\n${event.to}`);
    while ((this.#sent[0]?.[0] ?? now) < now - 1000) this.#sent.shift();
    for (const [socket, watches] of this.isMute ? [] : this.#clients) {
      for (const [id, watching] of watches) {
        // A slow reader is told how many it missed.
        const frame = socket.bufferedAmount > 4e6 ? null : this.#frame(watching, events, now);
        if (frame) socket.send(JSON.stringify({ ...frame, id }));
      }
    }
    this.society.changed.clear();
  }

  #frame(watching: WatchState, events: readonly Event[], now: number): object | null {
    const { watch } = watching;
    if (watch.what === "events") {
      const wanted = events.filter(watching.takes);
      return wanted.length > 0 ? { type: "events", events: wanted } : null;
    }
    if (watch.what === "log") {
      const first = this.society.log.length - events.length;
      const lines = events.flatMap((event, index) => (watching.takes(event) ? [{ number: first + index + 1, ...event }] : []));
      return watch.wanted.follow && lines.length > 0 ? { type: "log", lines } : null;
    }
    if (watch.what === "traffic") for (const event of events) if (event.event === "sent") count(watching.traffic, `${event.from}\n${event.to}`);
    if (watch.what === "agents") for (const name of this.society.changed) watching.traffic.set(name, 1);
    if (now < watching.dueMs) return null;
    watching.dueMs = now + watching.everyMs;
    return this.#paced(watching, now);
  }

  #paced(watching: WatchState, now: number): object | null {
    const { watch } = watching;
    const at_us = now * 1000;
    const { society } = this;
    switch (watch.what) {
      case "society":
        return { type: "society", at_us, node: society.node(), nodes: this.#members(), wrong: this.wrong, links: society.nodeNames.slice(1).map((peer) => ({ node: "n1", peer, address: null, up: true, connections: 1, waiting: 0, items_in: 1, items_out: 1, bytes_in: 1, bytes_out: 1, round_trip_us: 240 })) };
      case "traffic": {
        const pairs = [...watching.traffic].sort(([, a], [, b]) => b - a).slice(0, 1000).map(([key, many]) => [...key.split("\n"), many]);
        watching.traffic.clear();
        return { type: "traffic", at_us, pairs };
      }
      case "agents": {
        const names = [...watching.traffic.keys()];
        watching.traffic.clear();
        if (names.length === 0) return null;
        const agents = names.map((name) => society.agents.get(name));
        return { type: "agents_changed", total: society.agents.size, changed: agents.flatMap((agent) => (agent ? [society.info(agent)] : [])), gone: names.filter((name) => !society.agents.has(name)) };
      }
      case "mind": {
        const mind = society.mind(watch.agent);
        const told = JSON.stringify(mind);
        if (told === watching.told) return null;
        watching.told = told;
        return mind ? { type: "mind", mind } : { type: "refused", reason: "no_such_agent", text: `there is no agent ${watch.agent} here` };
      }
      case "output": {
        const found = society.outputOf(watch.wanted, OUTPUT_LINES_MAX);
        if (found.lines.length === 0 && watching.told !== "") return null;
        watching.told = "told";
        watching.watch = { ...watch, wanted: { ...watch.wanted, since: found.next } };
        return { type: "output", ...found };
      }
      case "health":
        return this.#health(at_us);
      case "answer": {
        const answer = this.#answer(watch.request);
        const told = JSON.stringify(answer);
        if (told === watching.told) return null;
        watching.told = told;
        return { type: "answer", answer };
      }
      case "mobility":
      case "security":
        if (watching.told !== "") return null;
        watching.told = "told";
        return {
          type: "events",
          events: [
            watch.what === "mobility"
              ? { at_us, node: "n1", event: "agent", agent: "courier1", text: "courier1 came from n2" }
              : { at_us, node: "n1", event: "refused", reason: "forbidden", who: "agent:tab1", action: "create", object: "tab2", text: "no rule grants it" },
          ],
        };
      default:
        return null;
    }
  }

  #health(at_us: number): object {
    const { society } = this;
    const sent = this.#sent.reduce((sum, [, many]) => sum + many, 0);
    const base = 180 + 40 * Math.sin(at_us / 9e6);
    const mailboxes = [...society.agents.values()].filter(({ mailbox }) => mailbox > 0).sort((a, b) => b.mailbox - a.mailbox).slice(0, 10).map(({ name, mailbox }) => [name, mailbox]);
    const full = [...society.agents.values()].find(({ mailbox, state }) => mailbox > 20 && state === "suspended");
    return {
      type: "health", at_us, sent_per_s: sent, handled_per_s: sent * 0.97, dead_per_s: sent * 0.01, queued: society.sent - society.handled - society.dead, latency_us: { p50: base, p90: base * 2.2, p99: base * 6 }, memory_bytes: process.memoryUsage.rss(), mailboxes,
      wrong: full ? [`agent ${full.name} is suspended, and ${full.mailbox} messages wait for it`] : [],
    };
  }

  #members(): MemberInfo[] {
    return this.society.nodeNames.map((node, index) => {
      const agents = [...this.society.agents.values()].filter((agent) => agent.node === node).length;
      const busy = Math.min(1000, Math.floor((this.society.options.messagesPerS / 12) * (index + 1)) + 120 + 80 * index);
      return { node, number: String(index), state: this.society.draining.has(node) ? "draining" : "running", standby: false, placer: index === 0, level: 1, weight: 1, partitions: 40, leaving: 0, agents, load: { busy }, address: `127.0.0.1:${7001 + index}`, process: `estuary-${index}`, labels: [], unserved: [], troubles: [] };
    });
  }

  #answer(request: Request): Answer {
    const { society } = this;
    switch (request.request) {
      case "subscriptions":
        return { answer: "subscriptions", subscriptions: SUBSCRIPTIONS.slice(0, request.limit), total: SUBSCRIPTIONS.length };
      case "output":
        return { answer: "output", ...society.outputOf(request.wanted, request.limit) };
      case "programs":
        return { answer: "programs", programs: ["contractor.asl", "initiator.asl", "sensor.wasm"] };
      case "program_text":
        return society.agents.has(request.agent) || society.ended ? { answer: "program_text", file: request.file ?? "initiator.asl", text: SOURCE } : unknown(request.agent);
      case "totals": {
        const node = society.node();
        const nodes = society.nodeNames.flatMap((name) => (name === "n3" ? [] : [society.nodeAt(name)]));
        return { answer: "totals", sum: { ...node, memory_bytes: nodes.reduce((sum, { memory_bytes }) => sum + (memory_bytes ?? 0), 0) }, nodes, silent: society.nodeNames.filter((name) => name === "n3") };
      }
      case "traffic": {
        const busiest = [...this.#pairs].sort(([, a], [, b]) => b - a).slice(0, request.limit);
        return { answer: "traffic", pairs: busiest.map(([key, times]) => ({ from: key.split("\n")[0] ?? "", to: key.split("\n")[1] ?? "", count: times })), unseen: 0, silent: ["n3"] };
      }
      case "topics":
        return { answer: "topics", topics: [{ name: "topic:weather", node: "n1", members: 12, other_nodes: 1 }, { name: "group:couriers", node: "n1", members: 4, other_nodes: 0 }] };
      case "dead_letters":
        return { answer: "dead_letters", letters: society.deadLetters.slice(-request.limit), total: society.dead };
      case "devices":
        return { answer: "devices", devices: society.devices().slice(0, request.limit), total: society.devices().length };
      case "node":
        return { answer: "node", ...society.node() };
      case "at":
        if (request.ask.request === "node" && request.node !== "n3") return { answer: "node", ...society.nodeAt(request.node) };
        // All dead letters of the mock belong to the asked node.
        if (request.ask.request === "dead_letters" && request.node !== "n3") return { answer: "dead_letters", letters: [], total: 0 };
        if (request.ask.request === "output" && request.node !== "n3") return { answer: "output", lines: [], next: 0, left_out: 0, printed: 0, faults: 0 };
        if (request.ask.request === "events" && request.node !== "n3") return { answer: "events", ...this.#eventsAt(request.node, request.ask.since) };
        if (request.ask.request === "conversations" && request.node !== "n3" && !this.hasNoLogs) return { answer: "conversations", ...this.#heardAt(request.node, request.ask.wanted) };
        if (request.ask.request === "conversations" && this.hasNoLogs) return { answer: "error", reason: "no_log", text: "this node keeps no log of messages: run it with --log" };
        return request.node === "n3" ? { answer: "error", reason: "no_answer", text: "it is busy with something else" } : this.#answer(request.ask);
      case "links":
        return { answer: "links", links: [] };
      case "codes":
        return { answer: "codes", ...society.codes() };
      case "security":
        return { answer: "security", ...society.security() };
      case "refusals":
        return { answer: "refusals", total: 1, refusals: [{ at_us: society.startedMs * 1000, node: "n2", event: "refused", reason: "expired", who: "10.0.0.7", action: null, object: "", text: "its certificate is over" }] };
      case "audit": {
        const from = Number(request.before ?? 0);
        const lines = Array.from({ length: Math.min(request.limit, AUDIT_LINES - from) }, (_, index): Event => ({ at_us: (society.startedMs - 60_000 * (from + index)) * 1000, node: "n1", event: "refused", reason: "forbidden", who: `agent:visitor${from + index + 1}`, action: "send", object: "vault", text: "", sentence: `agent visitor${from + index + 1} may not send to vault` }));
        const end = from + lines.length;
        return { answer: "audit", refusals: lines, next: end < AUDIT_LINES ? String(end) : null };
      }
      case "quotas":
        return { answer: "quotas", ...society.quotas(request.limit) };
      case "services": {
        const contractors = [...society.agents.values()].filter(({ name }) => name.startsWith("contractor") || this.society.options.hostile).slice(0, 200);
        const entries = contractors.map(({ name, node }, index) => ({ agent: name, node, services: [{ name: JOBS[index % 3] ?? "", kind: "contractor", owner: null, protocols: ["fipa-contract-net"], ontologies: [], languages: [], properties: [["price", String(20 + (index % 7))] as const] }], protocols: [], ontologies: [], languages: [], lease_left_ms: index % 5 === 0 ? 60_000 : null }));
        return { answer: "services", entries: entries.reverse().filter(({ services, agent }) => !request.service || services.some((service) => patternFits(request.service ?? "", service.name)) || patternFits(request.service, agent)) };
      }
      case "agents": {
        const agents = [...society.agents.values()].filter(({ name }) => !request.name || patternFits(request.name, name));
        return { answer: "agents", agents: agents.slice(0, request.limit).map((agent) => society.info(agent)), total: agents.length };
      }
      case "mind": {
        const mind = society.mind(request.agent);
        return mind ? { answer: "mind", ...mind } : unknown(request.agent);
      }
      default:
        this.orders.push(request);
        return this.#obey(request);
    }
  }

  #obey(request: Request): Answer {
    const { society } = this;
    if (request.request === "send") {
      const message = request.message as { receivers?: string[]; content?: unknown; conversation_id?: string };
      const to = message.receivers?.[0] ?? "";
      if (!request.wait_ms) return { answer: "sent", from: "cli" };
      if (!society.agents.has(to) && to !== "df") return { answer: "reply", message: { performative: "failure", sender: "ams", receivers: ["cli"], content: { term: "undelivered", args: [{ atom: to }, { atom: "unknown_agent" }] } } };
      return { answer: "reply", message: { performative: "inform", sender: to, receivers: ["cli"], content: { term: "heard", args: [message.content ?? null] } } };
    }
    if (request.request === "register" || request.request === "modify" || request.request === "deregister") return society.agents.has(request.agent) ? { answer: "done" } : unknown(request.agent);
    if (request.request === "drain") {
      if (request.drains) society.draining.add(request.node);
      else society.draining.delete(request.node);
      return { answer: "done" };
    }
    if (request.request === "spawn") {
      if (!request.program.endsWith(".asl")) return { answer: "error", reason: "bad_request", text: `cannot create agent ${request.name}: there is no program ${request.program}` };
      const [like] = society.agents.values();
      const names = request.count ? Array.from({ length: request.count }, (_, at) => `${request.name}${at + 1}`) : [request.name];
      if (like) for (const name of names) society.create(name, like);
      return { answer: "spawned", agents: names };
    }
    if (!("agent" in request) || request.agent === undefined) return { answer: "error", reason: "bad_request", text: "that is no request" };
    const agent = society.agents.get(request.agent);
    const mind = society.minds.get(request.agent);
    if (!agent) return unknown(request.agent);
    society.changed.add(agent.name);
    switch (request.request) {
      case "step":
        agent.state = ({ start: "active", suspend: "suspended", resume: "active", wait: "waiting", wake: "active" } as const)[request.step];
        break;
      case "kill":
        society.agents.delete(agent.name);
        break;
      case "move": {
        const why = society.move(agent, request.to);
        if (why !== null) return { answer: "error", reason: "bad_state", text: why };
        break;
      }
      case "query": {
        if (request.formula.includes("(") !== request.formula.includes(")")) return { answer: "error", reason: "bad_request", text: `${agent.name}: expected \`)\`` };
        const beliefs = (mind?.info(agent.state).beliefs ?? []).map(({ text }) => text).filter((text) => text.startsWith(request.formula.split("(")[0] ?? ""));
        return { answer: "answers", answers: beliefs.slice(0, request.limit).map((text) => (request.formula.includes("X") ? [{ name: "X", value: text }] : [])), more: false };
      }
      case "perform":
        if (request.body.includes("fly")) return { answer: "performed", values: [], failure: { error: "no_relevant", text: "no plan for +!fly/0", file: "prompt", line: 1 } };
        return { answer: "performed", values: request.body.includes("X") ? [{ name: "X", value: "3" }] : [] };
      case "load":
        if (!request.program.endsWith(".asl")) return { answer: "error", reason: "bad_request", text: `the project has no program ${request.program}` };
        agent.program = request.program;
        return { answer: "loaded", removed: 3, added: 4, rules: 1, beliefs: 0 };
      case "clone":
        if (society.agents.has(request.name)) return { answer: "error", reason: "bad_request", text: `there is an agent ${request.name} already` };
        society.create(request.name, agent);
        break;
      case "debug":
        if (mind && request.order === "step") mind.step();
        else if (mind) mind.paused = request.order === "pause";
        break;
      case "line_breakpoint":
        mind?.breakAt(request.file, request.line, request.on);
        break;
      case "breakpoint":
        if (request.on) mind?.breakpoints.add(request.plan);
        else mind?.breakpoints.delete(request.plan);
        break;
      case "believe":
        if (!/^[a-z~]/.test(request.belief)) return { answer: "error", reason: "bad_request", text: `no belief: expected a predicate before “${request.belief.slice(0, 10)}”` };
        if (request.add) mind?.believed.push({ text: request.belief, sources: ["self"] });
        else if (mind) mind.believed.splice(mind.believed.findIndex(({ text }) => text === request.belief), 1);
        break;
      case "pursue":
        mind?.pursued.push(request.goal);
        break;
      default:
    }
    return { answer: "done" };
  }
}

/** Duration of a move. */
const JOURNEY_MS = 400;
/** Interval of a pilot's messages on another node. */
const PILOT_MS = 500;
/** Lines of output in one report. */
const OUTPUT_LINES_MAX = 1_000;
const JOBS = ["paint", "carry", "weld"];
/** Lines of the audit log. */
const AUDIT_LINES = 450;

function unknown(agent: string): Answer {
  return { answer: "error", reason: "no_such_agent", text: `there is no agent ${agent} here` };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

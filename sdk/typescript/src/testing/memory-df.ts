/** Directory facilitator of a platform in memory (FIPA00023 4.1). */
import { Aid } from "../acl/aid.js";
import type { Message } from "../acl/message.js";
import { equalValues } from "../acl/order.js";
import { atom, isTerm, record, term, type RecordValue, type Value } from "../acl/value.js";
import { setOf } from "../agents/directory.js";
import { Answers, ANSWERS, finding, fullIdentifier, fullSet, identifier, NegativeReason, onlyArgument, Parameters, readRequest, searchArguments, type ServiceRequest } from "./requests.js";

const LISTS = ["protocols", "ontologies", "languages"] as const;
type Lists = Readonly<Record<(typeof LISTS)[number], readonly string[]>>;

/** A service, or a template of services. */
interface Service {
  readonly name: string | undefined;
  readonly type: string | undefined;
  readonly ownership: string | undefined;
  readonly lists: Lists;
  readonly properties: readonly (readonly [string, Value])[];
}

/** An entry of the DF, or a template of entries. */
interface Description {
  readonly agent: Aid | undefined;
  readonly services: readonly Service[];
  readonly lists: Lists;
  readonly leaseMs: number | undefined;
}

interface DfEntry {
  readonly description: Description;
  /** End of the lease, in milliseconds of the platform's clock. */
  readonly endsMs: number;
}

interface Subscription {
  readonly template: Description;
  readonly asked: ServiceRequest;
  readonly answers: Answers;
}

/** Surroundings of the DF. */
export interface DfPort {
  readonly platform: string;
  readonly send: (message: Message) => void;
  /** Time in milliseconds, and that since 1970. */
  readonly now: () => number;
  readonly wallMs: () => number;
  /** Called with the milliseconds until a lease ends. */
  readonly onLease: (ms: number) => void;
}

/** The agent `df`: entries, leases, subscriptions. */
export class MemoryDf {
  readonly #port: DfPort;
  readonly #entries = new Map<string, DfEntry>();
  #subscriptions: Subscription[] = [];

  constructor(port: DfPort) {
    this.#port = port;
  }

  /** Answers a message. */
  handle(message: Message): void {
    if (ANSWERS.has(message.performative)) return;
    const answers = new Answers(message, "df", this.#port.send);
    let asked: ServiceRequest | undefined;
    try {
      answers.checkOntology();
      if (message.performative === "cancel") return this.#cancel(message, answers);
      const isRequest = message.performative === "request";
      if (!isRequest && !["query-ref", "subscribe"].includes(message.performative)) throw new NegativeReason("not-understood", "unsupported-act", message.performative);
      asked = readRequest(message, fullIdentifier(Aid.of("df"), this.#port.platform), !isRequest);
      if (!isRequest && asked.function !== "search") throw new NegativeReason("refuse", "unsupported-function", asked.function);
      if (message.performative === "subscribe") return this.#subscribe(asked, answers, this.#query(asked).template);
      const act = this.#read(asked, message.sender);
      if (isRequest) answers.agree(asked);
      answers.report(asked, act());
    } catch (reason) {
      answers.negative(asked, reason);
    }
  }

  /** An agent has ended: its entry and its subscriptions end. */
  handleEnded(agent: string): void {
    this.#subscriptions = this.#subscriptions.filter(({ answers }) => answers.message.sender.name !== agent);
    if (this.#entries.has(agent)) this.#remove(agent);
  }

  /** Removes entries whose lease is over. */
  handleTime(): void {
    for (const [agent, { endsMs }] of [...this.#entries]) if (endsMs <= this.#port.now()) this.#remove(agent);
  }

  #query(asked: ServiceRequest): { readonly template: Description; readonly most: number | undefined } {
    const { template, most } = searchArguments(asked, "df-agent-description");
    return { template: this.#description(template), most };
  }

  /** Returns what a request does. */
  #read(asked: ServiceRequest, sender: Aid): () => Value | undefined {
    if (asked.function === "search") {
      const { template, most } = this.#query(asked);
      return () => fullSet(this.#found(template).slice(0, most));
    }
    if (!["register", "deregister", "modify"].includes(asked.function)) throw new NegativeReason("refuse", "unsupported-function", asked.function);
    const description = this.#description(onlyArgument(asked, "df-agent-description"));
    const { agent } = description;
    if (agent === undefined) throw new NegativeReason("refuse", "missing-parameter", "df-agent-description", "name");
    if (!agent.equals(sender)) throw new NegativeReason("refuse", "unauthorised");
    return () => this.#change(asked.function, agent.name, description);
  }

  #change(called: string, agent: string, description: Description): undefined {
    this.handleTime();
    const old = this.#entries.get(agent);
    if (called === "register" && old) throw new NegativeReason("failure", "already-registered");
    if (called !== "register" && !old) throw new NegativeReason("failure", "not-registered");
    if (called === "deregister") {
      this.#remove(agent);
      return undefined;
    }
    const { leaseMs } = description;
    this.#entries.set(agent, { description, endsMs: leaseMs === undefined ? Infinity : this.#port.now() + leaseMs });
    if (leaseMs !== undefined) this.#port.onLease(leaseMs);
    this.#tell(agent, old);
    return undefined;
  }

  #remove(agent: string): void {
    const old = this.#entries.get(agent);
    this.#entries.delete(agent);
    this.#tell(agent, old);
  }

  #found(template: Description): RecordValue[] {
    this.handleTime();
    return [...this.#entries.values()].filter(({ description }) => matches(template, description)).map((entry) => this.#frame(entry));
  }

  #frame({ description, endsMs }: DfEntry): RecordValue {
    const ends = endsMs === Infinity ? undefined : BigInt(this.#port.wallMs() + Math.round(endsMs - this.#port.now()));
    return encoded(description, this.#port.platform, ends);
  }

  #description(value: Value): Description {
    const given = new Parameters(value, "df-agent-description", ["name", "services", ...LISTS, "lease-time", "scope"]);
    return {
      agent: given.optional("name", (one) => identifier(one, this.#port.platform)),
      leaseMs: given.optional("lease-time", (one) => leaseMsOf(one, this.#port.wallMs())),
      services: given.all("services").map(serviceOf),
      lists: listsOf(given),
    };
  }

  #subscribe(asked: ServiceRequest, answers: Answers, template: Description): void {
    answers.agree(asked);
    const subscription = { template, asked, answers };
    const found = this.#found(template);
    if (found.length > 0) notify(subscription, found);
    this.#subscriptions.push(subscription);
  }

  #cancel(message: Message, answers: Answers): void {
    const isMeant = ({ answers: { message: opened } }: Subscription): boolean =>
      opened.sender.equals(message.sender) && opened.conversationId === message.conversationId;
    const left = this.#subscriptions.filter((one) => !isMeant(one));
    const wasThere = left.length < this.#subscriptions.length;
    this.#subscriptions = left;
    const asked = { action: answers.ownSending(), function: "cancel", args: [] };
    if (wasThere) answers.report(asked, undefined);
    else answers.negative(asked, new NegativeReason("failure", "not-registered"));
  }

  /** Tells the subscribers that an entry changed. */
  #tell(agent: string, old: DfEntry | undefined): void {
    const entry = this.#entries.get(agent);
    for (const one of [...this.#subscriptions]) {
      const did = old !== undefined && matches(one.template, old.description);
      const does = entry !== undefined && matches(one.template, entry.description);
      if (entry && does && !(did && equalValues(encoded(old.description, "", undefined), encoded(entry.description, "", undefined)))) notify(one, [this.#frame(entry)]);
      else if (did && !does) notify(one, [record("df-agent-description", { name: fullIdentifier(Aid.of(agent), this.#port.platform) })]);
    }
  }
}

function notify({ answers, asked }: Subscription, found: readonly Value[]): void {
  answers.say("inform", [finding(asked, fullSet(found))]);
}

function listsOf(given: Parameters): Lists {
  return Object.fromEntries(LISTS.map((name) => [name, given.texts(name)])) as unknown as Lists;
}

function serviceOf(value: Value): Service {
  const given = new Parameters(value, "service-description", ["name", "type", ...LISTS, "ownership", "properties"]);
  const property = (one: Value): readonly [string, Value] => {
    const parts = new Parameters(one, "property", ["name", "value"]);
    const name = parts.text("name");
    if (name === undefined) throw new NegativeReason("refuse", "missing-parameter", "property", "name");
    return [name, parts.optional("value", (item) => item) ?? null];
  };
  return { name: given.text("name"), type: given.text("type"), ownership: given.text("ownership"), lists: listsOf(given), properties: given.all("properties").map(property) };
}

/** Returns true if the entry has all that the template asks for (6.2.4.1). */
function matches(template: Description, entry: Description): boolean {
  return (
    (template.agent === undefined || (entry.agent !== undefined && template.agent.equals(entry.agent))) &&
    allIn(template.lists, entry.lists) &&
    template.services.every((wanted) => entry.services.some((service) => serviceMatches(wanted, service)))
  );
}

function serviceMatches(wanted: Service, service: Service): boolean {
  return (
    (["name", "type", "ownership"] as const).every((name) => wanted[name] === undefined || wanted[name] === service[name]) &&
    allIn(wanted.lists, service.lists) &&
    wanted.properties.every(([name, value]) => service.properties.some(([other, offered]) => other === name && (value === null || equalValues(value, offered))))
  );
}

function allIn(wanted: Lists, offered: Lists): boolean {
  return LISTS.every((name) => wanted[name].every((text) => offered[name].includes(text)));
}

function encoded({ agent, services, lists }: Description, platform: string, endsMs: bigint | undefined): RecordValue {
  const atoms = (texts: readonly string[]): Value | undefined => setOf(texts.map((text) => atom(text)));
  const optional = (text: string | undefined): Value | undefined => (text === undefined ? undefined : atom(text));
  const sets = (from: Lists): Record<string, Value | undefined> => Object.fromEntries(LISTS.map((name) => [name, atoms(from[name])]));
  const service = ({ name, type, ownership, lists: own, properties }: Service): Value =>
    record("service-description", {
      name: optional(name),
      type: optional(type),
      ...sets(own),
      ownership: optional(ownership),
      properties: setOf(properties.map(([key, value]) => record("property", { name: atom(key), value }))),
    });
  return record("df-agent-description", {
    name: agent && fullIdentifier(agent, platform),
    services: setOf(services.map(service)),
    ...sets(lists),
    "lease-time": endsMs === undefined ? undefined : term("datetime", endsMs),
  });
}

function leaseMsOf(value: Value, wallMs: number): number | undefined {
  const number = (given: Value | undefined): number | undefined => (typeof given === "bigint" || typeof given === "number" ? Number(given) : undefined);
  const ms = isTerm(value) && value.args.length === 1 ? number(value.args[0]) : number(value);
  if (ms === undefined || ms < 0) return undefined;
  if (!isTerm(value) || value.term === "duration") return ms;
  return value.term === "datetime" ? Math.max(0, ms - wallMs) : undefined;
}

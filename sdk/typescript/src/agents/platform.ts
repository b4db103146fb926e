import { Aid } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import { Driver } from "../session/driver.js";
import type { SessionError, SessionEvent, SessionOptions } from "../session/session.js";
import type { Connect } from "../session/transport.js";
import { Agent, type Setup } from "./agent.js";
import { RefusedError } from "./errors.js";

/** What is waited for until the node says something of a frame. */
interface Pending {
  readonly refused: (error: RefusedError) => void;
}

interface Lodger {
  readonly agent: Agent;
  created: ((name: string) => void) | undefined;
  failed: ((error: Error) => void) | undefined;
  /** Whoever waits for certificates, in order. */
  readonly certified: ((certificates: string) => void)[];
}

/** How many refusals are waited for: the node refuses soon, or not at all. */
const PENDING_MAX = 4096;

/**
 * A platform on which agents of this program live, over one session with one of its nodes. When the connection breaks it is
 * made again, and all goes on where it was; when the session is over, so are the agents.
 */
export class Platform {
  readonly #driver: Driver;
  readonly #lodgers = new Map<number, Lodger>();
  readonly #pending = new Map<number, Pending>();
  #over: ((error: SessionError) => void) | undefined;

  /** Resolves when the session is over, with the reason; its code is `bye` after {@link Platform.close}. */
  readonly closed: Promise<SessionError> = new Promise((resolve) => (this.#over = resolve));

  private constructor(options: SessionOptions, connect: Connect, welcomed: () => void, failed: (error: Error) => void) {
    this.#driver = new Driver(options, connect, (event) => {
      if (event.type === "welcome") welcomed();
      if (event.type === "over") failed(event.error);
      this.#happened(event);
    });
  }

  /** Begins a session. @internal */
  static begin(options: SessionOptions, connect: Connect): Promise<Platform> {
    return new Promise((resolve, reject) => {
      const platform: Platform = new Platform(options, connect, () => resolve(platform), reject);
    });
  }

  /** The platform's name: what stands after `@` in its agents' names. */
  get name(): string {
    return this.#driver.session.welcome?.platform ?? "";
  }

  /** How many agents this session may have at a time. */
  get agentsMax(): number {
    return this.#driver.session.welcome?.agents ?? 0;
  }

  /** The agents of this session. */
  get agents(): readonly Agent[] {
    return [...this.#lodgers.values()].filter(({ created }) => created === undefined).map(({ agent }) => agent);
  }

  /** How many messages the node has not acknowledged yet. */
  get unacknowledged(): number {
    return this.#driver.session.unacknowledged;
  }

  /**
   * Creates an agent: an object of a class of one's own, or a function that sets one up. Returns it when it is in the AMS and
   * set up.
   *
   * @throws {@link RefusedError} if the node does not want it: `name-taken`, `not-allowed`, `bad-name`, `too-many-agents`.
   */
  create(name: string, setup?: Setup): Promise<Agent>;
  create<A extends Agent>(name: string, agent: A): Promise<A>;
  async create(name: string, given: Setup | Agent = () => undefined): Promise<Agent> {
    const agent = given instanceof Agent ? given : new Agent();
    const setup = given instanceof Agent ? () => given.setup() : () => given(agent);
    const number = this.#freeNumber();
    const lodger: Lodger = { agent, created: undefined, failed: undefined, certified: [] };
    const made = new Promise<string>((created, failed) => {
      lodger.created = created;
      lodger.failed = failed;
    });
    const { session } = this.#driver;
    const frame = session.create(number, name);
    this.#lodgers.set(number, lodger);
    this.#pending.set(frame, {
      refused: (error) => {
        this.#lodgers.delete(number);
        lodger.failed?.(error);
      },
    });
    this.#driver.pump();
    await made;
    try {
      await setup();
    } catch (error) {
      if (!agent.signal.aborted) session.end(number);
      this.#driver.pump();
      throw error;
    }
    return agent;
  }

  /** Ends all agents and the session, once all that they said is with the node. */
  async close(): Promise<void> {
    this.#driver.session.bye();
    this.#driver.pump();
    await this.closed;
  }

  #freeNumber(): number {
    for (let number = 0; number < Math.max(1, this.agentsMax); number++) if (!this.#lodgers.has(number)) return number;
    throw new RefusedError("too-many-agents", `a session may have ${this.agentsMax} agents`);
  }

  #happened(event: SessionEvent): void {
    switch (event.type) {
      case "created":
        return this.#created(event.agent, event.name);
      case "ended":
        return this.#ended(event.agent, event.reason);
      case "message":
        return this.#lodgers.get(event.agent)?.agent.deliver(event.message);
      case "unreadable":
        return this.#lodgers.get(event.agent)?.agent.onError(new WhimbrelError(`a message that cannot be read: ${event.why}`));
      case "certified":
        return this.#lodgers.get(event.agent)?.certified.shift()?.(event.certificates);
      case "refused":
        return this.#refused(event.of, new RefusedError(event.code, event.text));
      case "over":
        for (const [number] of this.#lodgers) this.#ended(number, event.error.message, event.error);
        return this.#over?.(event.error);
      default:
        return undefined;
    }
  }

  #refused(of: number, error: RefusedError): void {
    const pending = this.#pending.get(of);
    this.#pending.delete(of);
    if (pending) pending.refused(error);
    // A message to one of the agents could not be handed over; its sender heard of it.
    else for (const { agent } of this.#lodgers.values()) agent.onError(error);
  }

  #created(number: number, name: string): void {
    const lodger = this.#lodgers.get(number);
    if (lodger === undefined) return;
    const { session } = this.#driver;
    const driver = this.#driver;
    const pending = this.#pending;
    lodger.agent.bind({
      aid: Aid.of(name),
      send: (message) => {
        const frame = session.send(number, message);
        driver.pump();
        return frame;
      },
      whenRefused: (frame, refused) => {
        // The oldest were not refused: the node has long had them.
        if (pending.size >= PENDING_MAX) for (const [oldest] of pending) if (pending.delete(oldest)) break;
        pending.set(frame, { refused });
        return () => void pending.delete(frame);
      },
      end: () => {
        session.end(number);
        driver.pump();
      },
      certify: (request) =>
        new Promise((certified, failed) => {
          lodger.certified.push(certified);
          pending.set(session.certify(number, request), {
            refused: (error) => {
              lodger.certified.splice(lodger.certified.indexOf(certified), 1);
              failed(error);
            },
          });
          lodger.agent.signal.addEventListener("abort", () => failed(lodger.agent.signal.reason), { once: true });
          driver.pump();
        }),
    });
    const { created } = lodger;
    lodger.created = lodger.failed = undefined;
    created?.(name);
  }

  #ended(number: number, reason: string, error?: Error): void {
    const lodger = this.#lodgers.get(number);
    this.#lodgers.delete(number);
    lodger?.failed?.(error ?? new WhimbrelError(reason));
    lodger?.agent.over(reason);
  }
}

import type { Mind } from "../agentspeak/engine.js";
import type { WorkerQuery, WorkerChannel } from "./worker-channel.js";

/** An agent in a Worker of this device. */
export class DeviceAgent {
  /**
   * Resolves with the reason when the agent ended. A durable agent that waits for this device's network has not ended.
   */
  readonly ended: Promise<string>;
  #end: ((reason: string) => void) | undefined;
  #isSuspended = false;
  #isToEnd = false;
  #channel: WorkerChannel;
  #id: number;

  /** @internal */
  constructor(
    /** Identifier, `name@platform`. */
    readonly aid: string,
    channel: WorkerChannel,
    id: number,
    /** Order that recreates a durable agent in another Worker when its session is over. @internal */
    readonly order?: WorkerQuery,
  ) {
    this.#channel = channel;
    this.#id = id;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** Local name. */
  get name(): string {
    return this.aid.slice(0, this.aid.lastIndexOf("@"));
  }

  /** True while the agent is suspended. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Suspends the agent: it handles nothing, and messages wait. */
  suspend(): void {
    this.#isSuspended = true;
    this.#channel.say({ type: "suspend", id: this.#id, suspended: true });
  }

  /** Resumes the agent. */
  resume(): void {
    this.#isSuspended = false;
    this.#channel.say({ type: "suspend", id: this.#id, suspended: false });
  }

  /**
   * Moves the agent with its current state to a node, or to the device of this name. Only a durable agent can move.
   * Resolves when it has arrived; {@link DeviceAgent.ended} resolves, too.
   *
   * @throws {@link StayedError} if the agent cannot move, with the reason.
   */
  async moveTo(place: string): Promise<void> {
    await this.#channel.ask({ type: "move", agent: this.#id, to: place });
  }

  /**
   * Returns the state of its mind: beliefs, goals, intentions, plans, mailbox, recent cycles.
   *
   * @throws {@link WhimbrelError} if the agent is not written in AgentSpeak.
   */
  async mind(): Promise<Mind> {
    return (await this.#channel.ask({ type: "mind", agent: this.#id })) as Mind;
  }

  /** Ends the agent. */
  async end(): Promise<void> {
    this.#isToEnd = true;
    this.#channel.say({ type: "end", id: this.#id });
    await this.ended;
  }

  /** Attaches the agent to another Worker. @internal */
  goOn(channel: WorkerChannel, id: number): void {
    this.#channel = channel;
    this.#id = id;
    if (this.#isSuspended) this.suspend();
    if (this.#isToEnd) channel.say({ type: "end", id });
  }

  /** @internal */
  over(reason: string): void {
    this.#end?.(reason);
  }
}

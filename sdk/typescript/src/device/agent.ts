import type { Mind } from "../agentspeak/engine.js";
import type { Question, WorkerLine } from "./worker-line.js";

/** An agent in a Worker of this device. */
export class DeviceAgent {
  /** Resolves with the reason when it ended. One that is kept and waits for this device, as the network is away, did not. */
  readonly ended: Promise<string>;
  #end: ((reason: string) => void) | undefined;
  #isSuspended = false;
  #isToEnd = false;
  #line: WorkerLine;
  #id: number;

  /** @internal */
  constructor(
    /** Its identifier, `name@platform`. */
    readonly aid: string,
    line: WorkerLine,
    id: number,
    /** What it is made by again, if it is kept: should the session of its Worker be over, it goes on in the next one. @internal */
    readonly order?: Question,
  ) {
    this.#line = line;
    this.#id = id;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** Its local name. */
  get name(): string {
    return this.aid.slice(0, this.aid.lastIndexOf("@"));
  }

  /** Whether it is given nothing to do. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Gives it nothing to do; messages wait for it. */
  suspend(): void {
    this.#isSuspended = true;
    this.#line.say({ type: "suspend", id: this.#id, suspended: true });
  }

  /** Lets it go on. */
  resume(): void {
    this.#isSuspended = false;
    this.#line.say({ type: "suspend", id: this.#id, suspended: false });
  }

  /**
   * Has it go on elsewhere, from where it is now: on a node, or on the device of this name. It has to be kept. Resolves when it is there; {@link DeviceAgent.ended} says so, too.
   *
   * @throws {@link StayedError} if it stays: why.
   */
  async moveTo(place: string): Promise<void> {
    await this.#line.ask({ type: "move", agent: this.#id, to: place });
  }

  /**
   * What is in its mind now: beliefs, goals, intentions, plans, mailbox, recent cycles.
   *
   * @throws {@link WhimbrelError} if it is no AgentSpeak agent.
   */
  async mind(): Promise<Mind> {
    return (await this.#line.ask({ type: "mind", agent: this.#id })) as Mind;
  }

  /** Ends it. */
  async end(): Promise<void> {
    this.#isToEnd = true;
    this.#line.say({ type: "end", id: this.#id });
    await this.ended;
  }

  /** It goes on in another Worker. @internal */
  goOn(line: WorkerLine, id: number): void {
    this.#line = line;
    this.#id = id;
    if (this.#isSuspended) this.suspend();
    if (this.#isToEnd) line.say({ type: "end", id });
  }

  /** @internal */
  over(reason: string): void {
    this.#end?.(reason);
  }
}

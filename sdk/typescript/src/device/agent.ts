import type { WorkerLine } from "./worker-line.js";

/** An agent in a Worker of this device. */
export class DeviceAgent {
  /** Resolves with the reason when it ended. */
  readonly ended: Promise<string>;
  #end: ((reason: string) => void) | undefined;
  #isSuspended = false;

  /** @internal */
  constructor(
    /** Its identifier, `name@platform`. */
    readonly aid: string,
    readonly line: WorkerLine,
    readonly id: number,
  ) {
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
    this.line.say({ type: "suspend", id: this.id, suspended: true });
  }

  /** Lets it go on. */
  resume(): void {
    this.#isSuspended = false;
    this.line.say({ type: "suspend", id: this.id, suspended: false });
  }

  /**
   * Has it go on elsewhere, from where it is now: on a node, or on the device of this name. It has to be kept. Resolves when it is there; {@link DeviceAgent.ended} says so, too.
   *
   * @throws {@link StayedError} if it stays: why.
   */
  async moveTo(place: string): Promise<void> {
    await this.line.ask({ type: "move", agent: this.id, to: place });
  }

  /** Ends it. */
  async end(): Promise<void> {
    this.line.say({ type: "end", id: this.id });
    await this.ended;
  }

  /** @internal */
  over(reason: string): void {
    this.#end?.(reason);
  }
}

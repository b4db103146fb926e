import { Agent } from "../agents/agent.js";
import { EndedError, StayedError } from "../agents/errors.js";
import type { Message } from "../acl/message.js";
import type { Society } from "./society.js";

/** An agent of a society on a platform that keeps it: it counts which messages its mind has handled. */
export class MindSeat extends Agent {
  readonly #society: Society;
  readonly #mind: string;
  readonly #setUp: () => void | Promise<void>;
  /** Messages that came before the mind was there. */
  #early: (readonly [message: Message, number: number])[] | undefined = [];
  /** The numbers of those that wait in its mailbox. */
  readonly #waiting: number[] = [];
  #upto = 0;
  #isLost = false;

  /** `setUp` has the mind be. */
  constructor(society: Society, mind: string, setUp: () => void | Promise<void>) {
    super();
    this.#society = society;
    this.#mind = mind;
    this.#setUp = setUp;
  }

  override setup(): void | Promise<void> {
    return this.#setUp();
  }

  /** The mind is there. */
  begin(path: string): void {
    this.#society.keep(this.#mind);
    if (this.keeper) {
      this.keeper.isStepwise = true;
      this.keeper.code = () => this.#society.code(path).bytes;
      this.keeper.source = () => ({ state: this.#society.snapshot(this.#mind), upto: this.#upto });
    }
    for (const [message, number] of this.#early?.splice(0) ?? []) this.#hand(message, number);
    this.#early = undefined;
  }

  /** It had turns: so many messages wait that came from the platform. */
  worked(waiting: number): void {
    while (this.#waiting.length > waiting) this.#upto = this.#waiting.shift() ?? this.#upto;
    this.keeper?.touched(this.#waiting.length);
  }

  /**
   * Has the mind go on elsewhere, from where it is now: its step that says so is done there, and fails here if it stays.
   *
   * @throws {@link StayedError} if it stays.
   */
  override async moveTo(place: string): Promise<void> {
    const { keeper } = this;
    if (!keeper || this.#early) throw new StayedError("not_movable", "it is not kept, or not there yet");
    if (keeper.isLeaving) throw new StayedError("not_movable", "it is on its way already");
    try {
      await keeper.leave(place, { state: this.#society.leave(this.#mind), upto: this.#upto });
    } catch (error) {
      if (!(error instanceof EndedError)) this.#stay(error);
      throw error;
    }
  }

  /** Its mind wants to be there. It hears itself why it stays. */
  go(place: string): void {
    this.moveTo(place).catch((error: unknown) => {
      // What went wrong before anything left it would never hear.
      if (!(error instanceof StayedError || error instanceof EndedError)) this.tell(error);
    });
  }

  #stay(error: unknown): void {
    const [why, text] = error instanceof StayedError ? [error.why, error.message] : ["not_movable", String(error)];
    if (!this.#society.isOver) this.#society.stay(this.#mind, why, text);
  }

  /** @internal */
  override over(reason: string): void {
    // It is elsewhere by now, and did not end.
    if (this.keeper?.hasMoved && !this.#society.isOver) this.#society.depart(this.#mind);
    super.over(reason);
  }

  /** The mind is no more, and did not end: it waits as it was last saved, with the messages behind that, for whoever comes when this session is over. */
  lose(): void {
    this.#isLost = true;
    this.keeper?.over();
  }

  /** @internal */
  override deliver(message: Message, _bytes: number, number: number): void {
    if (this.#early) this.#early.push([message, number]);
    else this.#hand(message, number);
  }

  #hand(message: Message, number: number): void {
    if (this.#isLost) return;
    let missing: readonly string[];
    try {
      missing = this.#society.isOver ? [this.#mind] : this.#society.deliver({ ...message, receivers: [this.aid] });
    } catch (error) {
      // The engine stopped, over this message perhaps: it is nobody's so far.
      if (this.#isLost) return;
      throw error;
    }
    if (missing.length === 0) this.#waiting.push(number);
    else if (message.performative !== "failure") this.reply(message, "failure", "the mailbox is full, or the agent ended");
  }
}

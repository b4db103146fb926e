import { Agent } from "../agents/agent.js";
import { EndedError, StayedError } from "../agents/errors.js";
import type { Message } from "../acl/message.js";
import type { Society } from "./society.js";

/** Platform agent that stands for a durable mind of a society. It counts the messages that the mind has handled. */
export class MindAgent extends Agent {
  readonly #society: Society;
  readonly #mind: string;
  readonly #setUp: () => void | Promise<void>;
  /** Messages that arrived before the mind was created. */
  #early: (readonly [message: Message, number: number])[] | undefined = [];
  /** Numbers of the messages in the mind's mailbox. */
  readonly #waiting: number[] = [];
  #upto = 0;
  #isLost = false;

  /** `setUp` creates the mind. */
  constructor(society: Society, mind: string, setUp: () => void | Promise<void>) {
    super();
    this.#society = society;
    this.#mind = mind;
    this.#setUp = setUp;
  }

  override setup(): void | Promise<void> {
    return this.#setUp();
  }

  /** Connects the created mind: saves its state from now on and delivers early messages. */
  begin(path: string): void {
    this.#society.keep(this.#mind);
    if (this.saver) {
      this.saver.isStepwise = true;
      this.saver.code = () => this.#society.code(path).bytes;
      this.saver.source = () => ({ state: this.#society.snapshot(this.#mind), upto: this.#upto });
    }
    for (const [message, number] of this.#early?.splice(0) ?? []) this.#hand(message, number);
    this.#early = undefined;
  }

  /** Notes a turn of the mind. `waiting` counts the platform's messages that it has not handled. */
  worked(waiting: number): void {
    while (this.#waiting.length > waiting) this.#upto = this.#waiting.shift() ?? this.#upto;
    this.saver?.touched(this.#waiting.length);
  }

  /**
   * Moves the mind to another place with its current state. Its `.move_to` succeeds there, or fails here if the move
   * fails.
   *
   * @throws {@link StayedError} if the agent cannot move.
   */
  override async moveTo(place: string): Promise<void> {
    const { saver } = this;
    if (!saver || this.#early) throw new StayedError("not_movable", "not durable, or not set up yet");
    if (saver.isLeaving) throw new StayedError("not_movable", "already moving");
    try {
      await saver.leave(place, { state: this.#society.leave(this.#mind), upto: this.#upto });
    } catch (error) {
      if (!(error instanceof EndedError)) this.#stay(error);
      throw error;
    }
  }

  /** Starts a move that the mind requested. The mind itself learns of a refusal. */
  go(place: string): void {
    this.moveTo(place).catch((error: unknown) => {
      // The mind learns of failures only after its state was sent. Report earlier ones here.
      if (!(error instanceof StayedError || error instanceof EndedError)) this.tell(error);
    });
  }

  #stay(error: unknown): void {
    const [why, text] = error instanceof StayedError ? [error.why, error.message] : ["not_movable", String(error)];
    if (!this.#society.isOver) this.#society.stay(this.#mind, why, text);
  }

  /** @internal */
  override over(reason: string): void {
    // The agent moved, so the society must forget its mind without ending it.
    if (this.saver?.hasMoved && !this.#society.isOver) this.#society.depart(this.#mind);
    super.over(reason);
  }

  /**
   * Detaches a mind that was lost with its engine. The node keeps its last saved state and later messages for another
   * session.
   */
  lose(): void {
    this.#isLost = true;
    this.saver?.over();
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
      // The engine stopped, perhaps because of this message. The message stays unhandled.
      if (this.#isLost) return;
      throw error;
    }
    if (missing.length === 0) this.#waiting.push(number);
    else if (message.performative !== "failure") this.reply(message, "failure", "mailbox full, or agent ended");
  }
}

import { Agent } from "../agents/agent.js";
import type { Message } from "../acl/message.js";
import type { Society } from "./society.js";

/** An agent of a society on a platform that keeps it: it counts which messages its mind has handled. */
export class MindSeat extends Agent {
  readonly #society: Society;
  readonly #mind: string;
  readonly #setUp: () => void;
  /** Messages that came before the mind was there. */
  #early: (readonly [message: Message, number: number])[] | undefined = [];
  /** The numbers of those that wait in its mailbox. */
  readonly #waiting: number[] = [];
  #upto = 0;
  #isLost = false;

  /** `setUp` has the mind be. */
  constructor(society: Society, mind: string, setUp: () => void) {
    super();
    this.#society = society;
    this.#mind = mind;
    this.#setUp = setUp;
  }

  override setup(): void {
    this.#setUp();
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

/**
 * State machine of one side of a conversation with one other agent. It has no clock and no network: messages and the
 * time are given to it. conformance/protocols/README.md in the repository is its specification.
 */
import { WhimbrelError } from "../acl/errors.js";
import { QUESTIONS_MAX } from "./limits.js";

/** Side of a conversation. */
export type ProtocolRole = "initiator" | "participant";
/** Party that says something: an agent, or the platform, which reports undelivered messages. */
export type ProtocolParty = ProtocolRole | "platform";

/** A transition: the states in which it is allowed, who says what, and the next state. */
export type ProtocolMove = readonly [from: readonly string[], by: ProtocolParty, say: readonly string[], to: string];

/** An interaction protocol: who may say what in which state, and where that leads. */
export interface Protocol {
  /** The parameter `protocol` of its messages. */
  readonly name: string;
  readonly title: string;
  /** FIPA's document. */
  readonly document: string;
  /** Names of the roles for people: an initiator may be an auctioneer. */
  readonly roles: Readonly<Record<ProtocolRole, string>>;
  /** Effects of deadlines, by state; `late` has answers to messages that miss them. */
  readonly deadlines: Readonly<Record<string, { readonly to: string; readonly late?: Readonly<Record<string, string>> }>>;
  /** Ends: true if the initiator has what it wanted. */
  readonly ends: Readonly<Record<string, boolean>>;
  readonly moves: readonly ProtocolMove[];
}

/** Thrown for an own message that the protocol does not allow. The message says what is allowed. */
export class ProtocolError extends WhimbrelError {
  override readonly name = "ProtocolError";

  constructor(
    message: string,
    /** Performatives that are allowed now. */
    readonly allowed: readonly string[] = [],
  ) {
    super(message);
  }
}

/** Ends that all protocols share. */
const SHARED_ENDS: Readonly<Record<string, boolean>> = { silent: false, "not-understood": false, broken: false, cancelled: false, "cancel-failed": false, unreachable: false };
/** Answers to messages that cross the end. */
const SHARED_LATE: Readonly<Record<string, string>> = { cancel: "failure" };
/** Content of automatic answers to late messages (SC00029H 1.1). */
const TOO_LATE = "too late";
const CANCELLING = "cancelling";
const SHARED_MOVES: readonly ProtocolMove[] = [
  [["*", CANCELLING], "initiator", ["not-understood"], "not-understood"],
  [["*", CANCELLING], "participant", ["not-understood"], "not-understood"],
  [["*", CANCELLING], "platform", ["failure"], "unreachable"],
  [["*"], "initiator", ["cancel"], CANCELLING],
  [[CANCELLING], "participant", ["inform"], "cancelled"],
  [[CANCELLING], "participant", ["failure"], "cancel-failed"],
];

const isOpen = ({ moves }: Protocol, state: string): boolean => state !== "start" && moves.some(([from]) => from.includes(state));

function* movesOf(protocol: Protocol, state: string, by: ProtocolParty): Generator<ProtocolMove> {
  for (const move of protocol.moves) if (move[1] === by && move[0].includes(state)) yield move;
  for (const move of SHARED_MOVES) if (move[1] === by && (move[0].includes(state) || (move[0].includes("*") && isOpen(protocol, state)))) yield move;
}

/** Returns the state to which a performative leads; undefined if it is not allowed. */
export function nextState(protocol: Protocol, state: string, by: ProtocolParty, say: string): string | undefined {
  for (const [, , said, to] of movesOf(protocol, state, by)) if (said.includes(say)) return to;
  return undefined;
}

/** Returns the performatives that a party may say in a state. */
export function allowedIn(protocol: Protocol, state: string, by: ProtocolParty): string[] {
  return [...movesOf(protocol, state, by)].flatMap(([, , said]) => said);
}

/** Returns true if a state is an end of a protocol. */
export function isEnd(protocol: Protocol, state: string): boolean {
  return state in protocol.ends || state in SHARED_ENDS;
}

/** Returns the text that says what is allowed instead. */
export function complaint(protocol: Protocol, state: string, say: string, by: ProtocolParty): string {
  const allowed = allowedIn(protocol, state, by).join(", ");
  const rule = allowed ? `${by === "platform" ? by : protocol.roles[by]} may say ${allowed}` : "nothing may be said any more";
  return `${protocol.name}, ${state}: ${say} is not allowed; ${rule}`;
}

/** Parts of a message that a machine looks at. */
export interface Saying {
  readonly performative: string;
  readonly replyWith?: string | undefined;
  readonly inReplyTo?: string | undefined;
  readonly replyByMs?: number | undefined;
}

/** Verdict on a received message, with its automatic answer. */
export interface Judgement {
  readonly verdict: "ok" | "late" | "wrong" | "unknown";
  /** Performative of the automatic answer. */
  readonly answer?: string | undefined;
  /** Content of the automatic answer. */
  readonly reason?: string;
}

/** One side of a conversation with one other agent. */
export class Machine {
  #state = "start";
  #deadlineMs: number | undefined;
  /**
   * States left by own messages and by deadlines (true) since the last received message that fitted. Each is there
   * once: a publisher may never receive another message.
   */
  #trail: (readonly [state: string, byDeadline: boolean])[] = [];
  /** States by the `replyWith` of the newest own messages, which led there. The newest is the last. */
  readonly #questions = new Map<string, string>();

  constructor(
    readonly protocol: Protocol,
    /** Role of this side. */
    readonly role: ProtocolRole,
  ) {}

  /** Name of the state. */
  get state(): string {
    return this.#state;
  }

  /** Deadline of the state, in milliseconds since 1970. */
  get deadlineMs(): number | undefined {
    return this.#deadlineMs;
  }

  /** True if the conversation ended. */
  get isOver(): boolean {
    return isEnd(this.protocol, this.#state);
  }

  /** True if it ended as the initiator wanted. */
  get isGood(): boolean {
    return this.protocol.ends[this.#state] ?? false;
  }

  /** True if one of the newest own messages with a `replyWith` had this one. */
  asked(replyWith: string): boolean {
    return this.#questions.has(replyWith);
  }

  /** Moves on if the deadline of the state has passed. Returns true if it has. */
  tick(nowMs: number): boolean {
    if (this.#deadlineMs === undefined || nowMs < this.#deadlineMs) return false;
    const to = deadlineOf(this.protocol, this.#state)?.to ?? this.#state;
    this.#leave(true);
    this.#move(to);
    return true;
  }

  /**
   * Checks an own message, without noting it.
   *
   * @throws {@link ProtocolError} if the protocol does not allow it.
   */
  check(say: string, nowMs: number): string {
    this.tick(nowMs);
    const to = nextState(this.protocol, this.#state, this.role, say);
    if (to === undefined) throw new ProtocolError(complaint(this.protocol, this.#state, say, this.role), allowedIn(this.protocol, this.#state, this.role));
    return to;
  }

  /**
   * Notes an own message.
   *
   * @throws {@link ProtocolError} if the protocol does not allow it. Nothing changes then.
   */
  send(said: Saying, nowMs: number): void {
    const to = this.check(said.performative, nowMs);
    this.#leave(false);
    this.#move(to, said.replyByMs);
    if (said.replyWith === undefined) return;
    this.#questions.delete(said.replyWith);
    this.#questions.set(said.replyWith, to);
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > QUESTIONS_MAX && oldest !== undefined) this.#questions.delete(oldest);
  }

  /** Judges a received message, and moves if it fits. */
  receive(said: Saying, nowMs: number, by: ProtocolParty = this.role === "initiator" ? "participant" : "initiator"): Judgement {
    this.tick(nowMs);
    const { performative: say } = said;
    if (this.#state === "broken") return { verdict: "late" };
    const wasAllowed = this.#trail.some(([left]) => nextState(this.protocol, left, by, say) !== undefined);
    const asked = this.#askedBefore(said.inReplyTo);
    if (asked !== undefined && wasAllowed) return this.#late(say, by);
    if (asked !== undefined && nextState(this.protocol, asked, by, say) !== undefined) return this.#wrong(say, by);
    const to = nextState(this.protocol, this.#state, by, say);
    if (to !== undefined) {
      this.#trail = [];
      this.#move(to, said.replyByMs);
      return { verdict: "ok" };
    }
    return wasAllowed || say === "not-understood" ? this.#late(say, by) : this.#wrong(say, by);
  }

  /** Returns the state of an own question that a newer one has replaced. */
  #askedBefore(inReplyTo: string | undefined): string | undefined {
    const newest = [...this.#questions.keys()].at(-1);
    return inReplyTo === undefined || inReplyTo === newest ? undefined : this.#questions.get(inReplyTo);
  }

  #leave(byDeadline: boolean): void {
    const from = this.#state;
    this.#trail = [...this.#trail.filter(([left, byTime]) => left !== from || byTime !== byDeadline), [from, byDeadline]];
  }

  #move(to: string, replyByMs?: number): void {
    this.#state = to;
    this.#deadlineMs = deadlineOf(this.protocol, to) ? replyByMs : undefined;
  }

  #late(say: string, by: ProtocolParty): Judgement {
    const left = this.#trail.findLast(([state]) => nextState(this.protocol, state, by, say) !== undefined);
    if (!left) return { verdict: "late" };
    const answers = left[1] ? deadlineOf(this.protocol, left[0])?.late : SHARED_LATE;
    const answer = answers?.[say];
    return answer === undefined ? { verdict: "late" } : { verdict: "late", answer, reason: TOO_LATE };
  }

  #wrong(say: string, by: ProtocolParty): Judgement {
    const reason = complaint(this.protocol, this.#state, say, by);
    if (!this.isOver) this.#move("broken");
    return { verdict: "wrong", answer: "not-understood", reason };
  }
}

function deadlineOf(protocol: Protocol, state: string): Protocol["deadlines"][string] | undefined {
  return state === CANCELLING ? { to: "silent" } : protocol.deadlines[state];
}

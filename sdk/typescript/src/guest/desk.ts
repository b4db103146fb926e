/** What belongs to one guest while it is called, as its imports see it. */
import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import type { Affairs, Wait } from "./affairs.js";
import type { Fits } from "./frame.js";
import { messageFrame } from "./frame.js";
import { CALL_BYTES_MAX, CALL_QUESTIONS_MAX } from "./limits.js";
import type { Shelf } from "./shelf.js";
import { valueBytes } from "./value.js";

/** What imports answer when they do not do what they were asked. */
export const [DENIED, QUOTA, MALFORMED, UNKNOWN, TIMEOUT, STAYED, FULL] = [-1, -2, -3, -4, -5, -6, -7] as const;

/** What a guest does that ends it. */
export class GuestError extends WhimbrelError {
  override readonly name = "GuestError";
}

/** How important a line is that a guest notes for whoever looks after it. */
export type LogLevel = "debug" | "info" | "warning" | "severe";

/** What only the platform knows, or does: the service and its type, or a name. */
export interface Question {
  readonly what: "search" | "exists" | "register" | "deregister" | "join" | "leave";
  readonly about: readonly string[];
}

/** What comes of that: a number, with the reason if it is negative; or a value to be fetched. */
export type Answer = { readonly code: number; readonly reason?: string } | { readonly value: Value };

/** Where a guest lives: what it hears and does beyond computing. */
export interface Surroundings {
  /** Its local name. */
  readonly name: string;
  readonly platform: string;
  /** The place that it is on. */
  readonly node: string;
  /** Microseconds of a clock that does not go back. */
  now(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  random(room: Uint8Array): void;
  send(message: Message): void;
  print(text: string): void;
  log(level: LogLevel, text: string): void;
  ask(question: Question): Promise<Answer>;
  /** It ends after so many milliseconds at the latest. */
  setLifetime(ms: number): void;
  /** What it keeps beside its memory, if that is granted. */
  readonly shelf: Shelf | undefined;
}

/** Where a guest wants to be; a clone of this name, if there is one: empty, a new one. */
export interface Hop {
  readonly to: string;
  readonly clone?: string;
}

/** How a call goes on when it comes to an import that waits. */
export type Course = { readonly type: "straight" } | { readonly type: "unwinding"; readonly wait: Wait } | { readonly type: "rewinding"; readonly answer: number };

/** What a guest asks for during a call, that is done when the call is over. */
export class Requests {
  hop: Hop | undefined;
  isStopping = false;
  /** What need not travel: addresses and lengths. */
  readonly discarded: [number, number][] = [];
  /** What is done when the call is over. */
  readonly effects: (() => void)[] = [];
  /** What takes back what is done already, if the call is begun anew. */
  readonly undo: (() => void)[] = [];
  messages = 0;
  lines = 0;
  bytes = 0;
}

/** A message that waits, and who is told when it was taken. */
export interface Waiting {
  readonly message: Message;
  readonly done: () => void;
}

/** Ends a call whose question has no answer yet: it is begun anew when there is one. */
export class Asked {
  constructor(readonly question: Question) {}
}

/** What a call heard that is another thing each time: it hears the same when it is begun anew. */
export class Heard {
  readonly answers: (readonly [Question, Answer])[] = [];
  readonly chance: Uint8Array[] = [];
  asked = 0;
  drawn = 0;

  constructor(
    readonly now: number,
    readonly wall: number,
  ) {}
}

/** See the module. */
export class Desk {
  requests = new Requests();
  course: Course = { type: "straight" };
  /** Whether the call that it is in can wait in its middle. */
  maySuspend = false;
  /** Why it was answered with a negative number last. */
  reason = "";
  mailbox: Waiting[] = [];
  /** How many of those the call sees: what comes while it waits for an answer it does not. */
  visible = 0;
  heard: Heard | undefined;

  constructor(
    readonly surroundings: Surroundings,
    public affairs: Affairs,
    readonly memory: () => Uint8Array,
  ) {}

  /** Microseconds; the same in all of a call that may be begun anew. */
  get now(): number {
    return this.heard?.now ?? this.surroundings.now();
  }

  get wall(): number {
    return this.heard?.wall ?? this.surroundings.wall();
  }

  /** Answers that something was not done, and keeps why. */
  refuse(code: number, reason: string): number {
    this.reason = reason;
    return code;
  }

  /** Keeps bytes for the guest to fetch; their length. */
  hold(bytes: Uint8Array): number {
    this.affairs.held = bytes;
    return bytes.length;
  }

  holdValue(value: Value): number {
    try {
      return this.hold(valueBytes(value));
    } catch (error) {
      return this.refuse(MALFORMED, `the answer cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** The bytes there. */
  region(ptr: number, len: number): Uint8Array {
    const memory = this.memory();
    const [at, count] = [ptr >>> 0, len >>> 0];
    if (at + count > memory.length) throw new GuestError("it passed an address outside its memory");
    return memory.subarray(at, at + count);
  }

  /** Copies as much as there is room for; how long it is. */
  copyOut(ptr: number, cap: number, bytes: Uint8Array): number {
    const room = this.region(ptr, cap);
    room.set(bytes.subarray(0, room.length));
    return bytes.length;
  }

  /** Counts bytes that it sends or prints; false if there were too many in this call. */
  maySay(bytes: number): boolean {
    this.requests.bytes += bytes;
    return this.requests.bytes <= CALL_BYTES_MAX;
  }

  later(effect: () => void): void {
    this.requests.effects.push(effect);
  }

  random(room: Uint8Array): void {
    const before = this.heard?.chance[this.heard.drawn];
    if (before?.length === room.length) room.set(before);
    else {
      this.surroundings.random(room);
      this.heard?.chance.splice(this.heard.drawn, Infinity, room.slice());
    }
    if (this.heard) this.heard.drawn++;
  }

  /** What the platform answers: in a call that is begun anew, if it was asked before. */
  ask(question: Question): number {
    const { heard } = this;
    if (!heard) return this.refuse(DENIED, "the platform cannot be asked now");
    const at = heard.asked++;
    if (at >= CALL_QUESTIONS_MAX) return this.refuse(QUOTA, `${CALL_QUESTIONS_MAX} questions in one call are the most`);
    const [known, answer] = heard.answers[at] ?? [];
    const isSame = known?.what === question.what && known.about.every((text, index) => text === question.about[index]);
    if (!isSame || !answer) {
      heard.answers.splice(at);
      throw new Asked(question);
    }
    if ("value" in answer) return this.holdValue(answer.value);
    return answer.code < 0 ? this.refuse(answer.code, answer.reason ?? "") : answer.code;
  }

  /** Holds the oldest message that fits for the guest to fetch; its length. */
  takeMatching(fits: Fits): number | undefined {
    for (;;) {
      const at = this.mailbox.findIndex(({ message }, index) => index < this.visible && fits(message));
      if (at < 0) return undefined;
      const frame = this.takeFrame(at);
      if (frame) return this.hold(frame);
    }
  }

  /** Takes a message; undefined if the guest cannot read it, which its sender hears. */
  takeFrame(at: number): Uint8Array | undefined {
    const [{ message, done }] = this.mailbox.splice(at, 1) as [Waiting];
    this.visible--;
    this.later(done);
    const { surroundings } = this;
    try {
      return messageFrame(message, surroundings.platform);
    } catch (error) {
      const why = `${surroundings.name} cannot read this: ${error instanceof Error ? error.message : String(error)}`;
      this.later(() => surroundings.send(refusal(message, why)));
      return undefined;
    }
  }
}

function refusal({ sender, replyTo, conversationId, replyWith, protocol, ontology, language }: Message, why: string): Message {
  return {
    performative: "not-understood",
    sender,
    receivers: replyTo && replyTo.length > 0 ? replyTo : [sender],
    content: why,
    ...(conversationId !== undefined && { conversationId }),
    ...(replyWith !== undefined && { inReplyTo: replyWith }),
    ...(protocol !== undefined && { protocol }),
    ...(ontology !== undefined && { ontology }),
    ...(language !== undefined && { language }),
  };
}

import { WhimbrelError } from "../acl/errors.js";
import { valueToJson } from "../acl/json.js";
import type { Draft, Message } from "../acl/message.js";
import { field, isTerm, textOf, type Value } from "../acl/value.js";
import type { Code } from "../session/frames.js";

/** A negative answer: `refuse`, `failure` or `not-understood`. */
export class AnswerError extends WhimbrelError {
  override readonly name: string = "AnswerError";

  constructor(
    /** The answer. */
    readonly answer: Message,
  ) {
    super(`${answer.sender} answers ${answer.performative}: ${reasonOf(answer.content)}`);
  }
}

/** Characters of the request that an error quotes. */
const QUOTED_MAX = 200;

/** Returns the reason of an answer for people. FIPA puts the request first; here the reason comes first. */
function reasonOf(content: Value): string {
  if (!Array.isArray(content) || content.length !== 2) return inWords(content);
  const [asked = null, reason = null] = content as readonly Value[];
  if (isTerm(reason, "undelivered", 2)) return `${inWords(reason.args[0] ?? null)} cannot be reached: ${inWords(reason.args[1] ?? null).replaceAll("_", " ")}`;
  const act = isTerm(asked, "action", 2) ? (asked.args[1] ?? null) : asked;
  return `${inWords(reason)}, for ${inWords(act).slice(0, QUOTED_MAX)}`;
}

/** Formats a value for people: texts and atoms plainly, terms as AgentSpeak, named records by name, others as JSON. */
function inWords(value: Value): string {
  const name = field(value, "name");
  if (name !== undefined) return inWords(name);
  if (isTerm(value)) return `${value.term}(${value.args.map(inWords).join(", ")})`;
  return textOf(value) ?? valueToJson(value);
}

/** The other agent refuses the request. */
export class RefuseError extends AnswerError {
  override readonly name = "RefuseError";
}

/** The request failed; or, from `ams`, the message could not be delivered. */
export class FailureError extends AnswerError {
  override readonly name = "FailureError";
}

/** The other agent did not understand the message. */
export class NotUnderstoodError extends AnswerError {
  override readonly name = "NotUnderstoodError";
}

/** No answer came in time. */
export class DeadlineError extends WhimbrelError {
  override readonly name = "DeadlineError";
}

/** Returns a {@link DeadlineError} that names the other agent. Returns other errors unchanged. @internal */
export function deadlineErrorFrom(error: unknown, asked: Draft["receivers"], timeoutMs: number): unknown {
  if (!(error instanceof DeadlineError)) return error;
  const names = (Array.isArray(asked) ? asked : [asked]).map(String).join(", ");
  return new DeadlineError(`${names} did not answer within ${Math.round(timeoutMs)} ms`);
}

/** The node refuses a request of this client. */
export class RefusedError extends WhimbrelError {
  override readonly name = "RefusedError";

  constructor(
    /** Reason for programs. */
    readonly code: Code,
    /** Reason for people. */
    readonly text: string,
  ) {
    super(`${code}: ${text}`);
  }
}

/** The agent could not move, and continues where it was. */
export class StayedError extends WhimbrelError {
  override readonly name = "StayedError";

  constructor(
    /**
     * Reason for programs: `no_such_node`, `already_there`, `forbidden`, `refused`, `busy`, `not_movable`, `too_large`,
     * `unreachable` or `stopping`.
     */
    readonly why: string,
    text: string,
    /** True if the node reported the failure. */
    readonly isNodes = false,
  ) {
    super(text);
  }

  /** Converts a node's refusal of a move. */
  static of({ code, text }: RefusedError): StayedError {
    const [, why, rest] = /^([a-z_]+): (.*)$/s.exec(text) ?? [];
    if (why !== undefined && rest !== undefined) return new StayedError(why, rest, true);
    return new StayedError(code === "not-allowed" ? "forbidden" : "not_movable", text, true);
  }
}

/** The agent ended. */
export class EndedError extends WhimbrelError {
  override readonly name = "EndedError";
}

/** Returns the error for a negative answer; undefined for other answers. */
export function errorOf(answer: Message): AnswerError | undefined {
  switch (answer.performative) {
    case "refuse":
      return new RefuseError(answer);
    case "failure":
      return new FailureError(answer);
    case "not-understood":
      return new NotUnderstoodError(answer);
    default:
      return undefined;
  }
}

import { WhimbrelError } from "../acl/errors.js";
import { valueToJson } from "../acl/json.js";
import type { Draft, Message } from "../acl/message.js";
import { field, isTerm, textOf, type Value } from "../acl/value.js";
import type { Code } from "../session/frames.js";

/** An answer that is none: `refuse`, `failure` or `not-understood`. */
export class AnswerError extends WhimbrelError {
  override readonly name: string = "AnswerError";

  constructor(
    /** The answer. */
    readonly answer: Message,
  ) {
    super(`${answer.sender} answers ${answer.performative}: ${reasonOf(answer.content)}`);
  }
}

/** How much of what was asked for is quoted. */
const QUOTED_MAX = 200;

/** The reason that an answer gives, as people read it; first, where FIPA has it behind what was asked for. */
function reasonOf(content: Value): string {
  if (!Array.isArray(content) || content.length !== 2) return inWords(content);
  const [asked = null, reason = null] = content as readonly Value[];
  if (isTerm(reason, "undelivered", 2)) return `${inWords(reason.args[0] ?? null)} cannot be reached: ${inWords(reason.args[1] ?? null).replaceAll("_", " ")}`;
  const act = isTerm(asked, "action", 2) ? (asked.args[1] ?? null) : asked;
  return `${inWords(reason)}, for ${inWords(act).slice(0, QUOTED_MAX)}`;
}

/** Texts and atoms as they are, terms as AgentSpeak writes them, what has a name by its name, and all else as JSON. */
function inWords(value: Value): string {
  const name = field(value, "name");
  if (name !== undefined) return inWords(name);
  if (isTerm(value)) return `${value.term}(${value.args.map(inWords).join(", ")})`;
  return textOf(value) ?? valueToJson(value);
}

/** The other agent does not want to. */
export class RefuseError extends AnswerError {
  override readonly name = "RefuseError";
}

/** It was tried and failed; or, from `ams`, the message could not be delivered. */
export class FailureError extends AnswerError {
  override readonly name = "FailureError";
}

/** The other agent does not know what was meant. */
export class NotUnderstoodError extends AnswerError {
  override readonly name = "NotUnderstoodError";
}

/** No answer came in time. */
export class DeadlineError extends WhimbrelError {
  override readonly name = "DeadlineError";
}

/** A {@link DeadlineError} that names who was asked; another error as it is. @internal */
export function lateFrom(error: unknown, asked: Draft["receivers"], timeoutMs: number): unknown {
  if (!(error instanceof DeadlineError)) return error;
  const names = (Array.isArray(asked) ? asked : [asked]).map(String).join(", ");
  return new DeadlineError(`${names} did not answer within ${Math.round(timeoutMs)} ms`);
}

/** The node does not do what it was asked for. */
export class RefusedError extends WhimbrelError {
  override readonly name = "RefusedError";

  constructor(
    /** Why, for programs. */
    readonly code: Code,
    /** Why, for people. */
    readonly text: string,
  ) {
    super(`${code}: ${text}`);
  }
}

/** The agent was to go elsewhere, and is where it was. */
export class StayedError extends WhimbrelError {
  override readonly name = "StayedError";

  constructor(
    /** Why, for programs: `no_such_node`, `already_there`, `forbidden`, `refused`, `busy`, `not_movable`, `too_large`, `unreachable` or `stopping`. */
    readonly why: string,
    text: string,
    /** Whether its node said so. */
    readonly isNodes = false,
  ) {
    super(text);
  }

  /** What the node said when it was to take the agent. */
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

/** The error that an answer is; undefined if it is a real answer. */
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

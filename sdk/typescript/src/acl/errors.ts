/** What this library throws of its own accord. */
export class WhimbrelError extends Error {
  override readonly name: string = "WhimbrelError";
}

/** Why bytes or text were refused. */
export type DecodeErrorCode =
  | "truncated"
  | "malformed"
  | "version"
  | "budget"
  | "too-deep"
  | "trailing"
  | "unknown-kind"
  | "other-framing";

/** Bytes or text that are not what they should be. Decoders throw nothing else. */
export class DecodeError extends WhimbrelError {
  override readonly name = "DecodeError";

  constructor(
    /** Why, for programs. */
    readonly code: DecodeErrorCode,
    /** Why, for people. */
    message: string,
    /** The byte at which it shows, if there are bytes. */
    readonly offset?: number,
  ) {
    super(offset === undefined ? message : `byte ${offset}: ${message}`);
  }
}

/** A value or message that cannot be written: not a value at all, nested too deeply, too long, or beyond a number's range. */
export class EncodeError extends WhimbrelError {
  override readonly name = "EncodeError";
}

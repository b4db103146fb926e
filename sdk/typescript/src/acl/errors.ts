/** Base class of this library's errors. */
export class WhimbrelError extends Error {
  override readonly name: string = "WhimbrelError";
}

/** Reasons for refusing bytes or text. */
export type DecodeErrorCode =
  | "truncated"
  | "malformed"
  | "version"
  | "budget"
  | "too-deep"
  | "trailing"
  | "unknown-kind"
  | "other-framing";

/** Error about invalid bytes or text. Decoders throw no other error. */
export class DecodeError extends WhimbrelError {
  override readonly name = "DecodeError";

  constructor(
    /** Reason for programs. */
    readonly code: DecodeErrorCode,
    /** Reason for people. */
    message: string,
    /** Offset of the offending byte, if there are bytes. */
    readonly offset?: number,
  ) {
    super(offset === undefined ? message : `byte ${offset}: ${message}`);
  }
}

/** Error about a value or message that cannot be encoded: not a value, nested too deeply, too long, or out of range. */
export class EncodeError extends WhimbrelError {
  override readonly name = "EncodeError";
}

/**
 * The compact codec: messages and values in few bytes. To use it in a session:
 *
 * ```ts
 * import { connect } from "whimbrel";
 * import { compact } from "whimbrel/compact";
 *
 * const platform = await connect(url, { token, form: compact });
 * ```
 *
 * @packageDocumentation
 */
import { Decoder, encodeBody, Encoder } from "./acl/compact/index.js";
import type { Compact } from "./session/frames.js";

export { Decoder, decodeBody, decodeMessage, decodeValue, encodeBody, encodeMessage, Encoder, encodeValue } from "./acl/compact/index.js";

/** The compact form of frames and messages. */
export const compact: Compact = {
  encodeBody,
  encoder: (remember) => new Encoder(remember),
  messageBytes: Encoder.messageBytes,
  decoder: (remember) => new Decoder(remember),
};

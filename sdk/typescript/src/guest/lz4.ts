/** LZ4's block format, used to pack states. */
import { badState } from "./bytes.js";

const MATCH_MIN = 4;
/** The last five bytes of a block are literals. No match begins in the last twelve. */
const LITERALS_LAST = 5;
const MATCH_LAST = 12;
const DISTANCE_MAX = 0xffff;
const HASH_BITS = 14;

/** Packs a block. */
export function compress(input: Uint8Array): Uint8Array {
  // Last position of four bytes with each hash.
  const seen = new Int32Array(1 << HASH_BITS).fill(-1);
  const view = new DataView(input.buffer, input.byteOffset, input.length);
  const out = new Uint8Array(input.length + Math.ceil(input.length / 255) + 16);
  let [written, anchor, at] = [0, 0, 0];
  const length = (left: number): void => {
    for (; left >= 255; left -= 255) out[written++] = 255;
    out[written++] = left;
  };
  const sequence = (literals: number, match: number): void => {
    const token = written++;
    out[token] = (Math.min(literals, 15) << 4) | Math.min(match, 15);
    if (literals >= 15) length(literals - 15);
    out.set(input.subarray(anchor, anchor + literals), written);
    written += literals;
  };
  const last = input.length - MATCH_LAST;
  while (at <= last) {
    const four = view.getUint32(at, true);
    const hash = Math.imul(four, 2654435761) >>> (32 - HASH_BITS);
    const before = seen[hash] as number;
    seen[hash] = at;
    if (before < 0 || at - before > DISTANCE_MAX || view.getUint32(before, true) !== four) {
      at++;
      continue;
    }
    let count = MATCH_MIN;
    while (at + count < input.length - LITERALS_LAST && input[before + count] === input[at + count]) count++;
    sequence(at - anchor, count - MATCH_MIN);
    out[written++] = (at - before) & 0xff;
    out[written++] = (at - before) >> 8;
    if (count - MATCH_MIN >= 15) length(count - MATCH_MIN - 15);
    at += count;
    anchor = at;
  }
  sequence(input.length - anchor, 0);
  return out.slice(0, written);
}

/**
 * Unpacks a block of `length` bytes.
 *
 * @throws {@link DecodeError} if the block is invalid.
 */
export function decompress(input: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  let [at, end] = [0, 0];
  const next = (): number => {
    const byte = input[at++];
    if (byte === undefined) throw badState();
    return byte;
  };
  const long = (half: number): number => {
    let count = half;
    for (let byte = half === 15 ? 255 : 0; byte === 255; count += byte) byte = next();
    return count;
  };
  while (at < input.length) {
    const token = next();
    const literals = long(token >> 4);
    if (at + literals > input.length || end + literals > length) throw badState();
    out.set(input.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    if (at === input.length) break;
    const distance = next() | (next() << 8);
    const count = long(token & 15) + MATCH_MIN;
    if (distance === 0 || distance > end || end + count > length) throw badState();
    for (let left = count; left > 0; left--, end++) out[end] = out[end - distance] as number;
  }
  if (end !== length) throw badState();
  return out;
}

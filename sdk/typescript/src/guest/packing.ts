/**
 * Packing of an agent's changes, as on nodes (`crates/wasm/src/packing.rs`). Uses a prefix code, LZ4, or neither: the
 * shortest result wins.
 */
import { badState, type Input, type Output } from "./bytes.js";
import { compress, decompress } from "./lz4.js";

/** Least length for LZ4. */
const LZ4_FROM = 96;
/** Greatest length for the prefix code. */
const CODE_UP_TO = 4096;
/** Expansion limits: a byte of LZ4 yields at most 255 bytes, one of the prefix code two. */
const LZ4_FACTOR_MAX = 255;
const CODE_FACTOR_MAX = 2;
/** Code length of each byte, one hexadecimal digit each. */
const LENGTHS =
  "4634665778788988788babbaaaaa9baa87599aaaaaababb9855855aaaabbabb9" +
  "79ab8bbbbbbaabbb999ababbbbbbabbb888998ba88ba8949887999a8bbbbabbb" +
  "58bbabbbbbbb8bbb88bbabbbabbaa9ba98aaabbbabbbabbb869ababaaabbabba" +
  "89abbbbabbbbbaba8aaabbbbabbbabbb8a6b9bbbabbbbbbb8688b8ba99999886";
/** Longest code length. */
const LONGEST = 11;

/** The canonical code: bits and length of each byte, and the byte that each bit pattern begins with. */
const { bits, lengths, bytes } = (() => {
  const [bits, lengths, bytes] = [new Uint16Array(256), new Uint8Array(256), new Uint8Array(1 << LONGEST)];
  for (let length = 1, next = 0; length <= LONGEST; length++, next <<= 1) {
    for (let byte = 0; byte < 256; byte++) {
      if (parseInt(LENGTHS.charAt(byte), 16) !== length) continue;
      bytes.fill(byte, next << (LONGEST - length), (next + 1) << (LONGEST - length));
      bits[byte] = next++;
      lengths[byte] = length;
    }
  }
  return { bits, lengths, bytes };
})();

/** Writes bytes packed. The header is 0 for plain bytes, else twice the length, plus one for LZ4. */
export function pack(plain: Uint8Array, out: Output): void {
  let [shortest, head] = [plain, 0];
  const offer = (packed: Uint8Array, kind: number): void => {
    if (packed.length < shortest.length) [shortest, head] = [packed, 2 * plain.length + kind];
  };
  if (plain.length <= CODE_UP_TO) offer(encode(plain), 0);
  if (plain.length >= LZ4_FROM) offer(compress(plain), 1);
  out.varint(head).bytes(shortest);
}

/**
 * Unpacks the rest of the input, if it has at most `bytesMax` bytes.
 *
 * @throws {@link DecodeError} if it is invalid.
 */
export function unpack(input: Input, bytesMax: number): Uint8Array {
  const head = input.length(2 * bytesMax + 1);
  const [length, isLz4, { rest }] = [head >>> 1, head % 2 === 1, input];
  if (head === 0) return rest;
  if (length === 0 || Math.floor(length / (isLz4 ? LZ4_FACTOR_MAX : CODE_FACTOR_MAX)) > rest.length) throw badState();
  return isLz4 ? decompress(rest, length) : decode(rest, length);
}

/** Encodes with the prefix code, highest bits first. The last byte is padded with zeros. */
function encode(plain: Uint8Array): Uint8Array {
  const out = new Uint8Array(Math.ceil((plain.length * LONGEST) / 8));
  let [held, count, end] = [0, 0, 0];
  for (const byte of plain) {
    const length = lengths[byte] as number;
    held = (held << length) | (bits[byte] as number);
    count += length;
    for (; count >= 8; held &= (1 << count) - 1) {
      count -= 8;
      out[end++] = held >> count;
    }
  }
  if (count > 0) out[end++] = held << (8 - count);
  return out.subarray(0, end);
}

function decode(packed: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  let [held, count, at] = [0, 0, 0];
  for (let end = 0; end < length; end++) {
    for (; count < LONGEST && at < packed.length; count += 8) held = (held << 8) | (packed[at++] as number);
    const next = count < LONGEST ? held << (LONGEST - count) : held >> (count - LONGEST);
    const byte = bytes[next] as number;
    count -= lengths[byte] as number;
    if (count < 0) throw badState();
    held &= (1 << count) - 1;
    out[end] = byte;
  }
  if (at < packed.length || count >= 8 || held !== 0) throw badState();
  return out;
}

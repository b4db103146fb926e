/**
 * How what an agent changed is packed, as nodes do it (`crates/wasm/src/packing.rs`): in a code in which frequent bytes take few bits, by
 * LZ4, or not at all, whatever is shortest.
 */
import { badState, type Input, type Output } from "./bytes.js";
import { compress, decompress } from "./lz4.js";

/** Bytes from which on LZ4 is tried. */
const LZ4_FROM = 96;
/** Bytes up to which the code is tried. */
const CODE_UP_TO = 4096;
/** A byte of LZ4 stands for so many at most, one of the code for two. */
const LZ4_FACTOR_MAX = 255;
const CODE_FACTOR_MAX = 2;
/** How many bits stand for each byte: a hexadecimal digit each. */
const LENGTHS =
  "4634665778788988788babbaaaaa9baa87599aaaaaababb9855855aaaabbabb9" +
  "79ab8bbbbbbaabbb999ababbbbbbabbb888998ba88ba8949887999a8bbbbabbb" +
  "58bbabbbbbbb8bbb88bbabbbabbaa9ba98aaabbbabbbabbb869ababaaabbabba" +
  "89abbbbabbbbbaba8aaabbbbabbbabbb8a6b9bbbabbbbbbb8688b8ba99999886";
/** Bits of the longest. */
const LONGEST = 11;

/** The canonical code: of each byte the bits that stand for it and how many; of bits the byte that they begin with. */
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

/** Writes these bytes packed: 0 and they as they are, or twice their number, and one more if what follows is LZ4. */
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
 * What {@link pack} wrote, to the end of the input, if it has so many bytes at most.
 *
 * @throws {@link DecodeError} if it is none.
 */
export function unpack(input: Input, bytesMax: number): Uint8Array {
  const head = input.length(2 * bytesMax + 1);
  const [length, isLz4, { rest }] = [head >>> 1, head % 2 === 1, input];
  if (head === 0) return rest;
  if (length === 0 || Math.floor(length / (isLz4 ? LZ4_FACTOR_MAX : CODE_FACTOR_MAX)) > rest.length) throw badState();
  return isLz4 ? decompress(rest, length) : decode(rest, length);
}

/** The first bits are the highest of the first byte; the last byte ends with zeros. */
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

/** What a module's memory is to begin with, and what of an agent's memory differs from that: only this is kept, and travels. */
import { badState, type Input, type Output } from "./bytes.js";

/** Bytes between two changes that are kept with them, though they are the same: to say where the second one is takes as many. */
const GAP = 1;
/** A gap before a change, or a length of one, from which on half a byte does not say it. */
const LONG = 15;

/** A memory as it is when an instance is new; zeros after the end. */
export class First {
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;

  constructor(
    memory: Uint8Array,
    /** Its length with the zeros. */
    readonly length = memory.length,
  ) {
    let end = memory.length;
    while (end > 0 && memory[end - 1] === 0) end--;
    const bytes = new Uint8Array(Math.ceil(end / 4) * 4);
    bytes.set(memory.subarray(0, end));
    this.#bytes = bytes;
    this.#words = new Uint32Array(bytes.buffer);
  }

  /** Whether nothing is there at all. */
  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  /** Whether nothing is there below this address. */
  isEmptyBelow(address: number): boolean {
    return this.#bytes.subarray(0, address).every((byte) => byte === 0);
  }

  /** Appends what of a memory from an address on differs from this. */
  writeChanges(memory: Uint8Array, from: number, out: Output): void {
    const words = new Uint32Array(memory.buffer, memory.byteOffset, memory.length >> 2);
    const known = this.#words.length;
    // A run of changed bytes that may go on, and where the last one that is written ended.
    let [start, end, written] = [-1, -1, 0];
    const close = (): void => {
      if (start >= 0) writeRun(start - written, memory.subarray(start, end), out);
      written = start >= 0 ? end : written;
    };
    for (let word = from >> 2; word < words.length; word++) {
      const first = word < known ? this.#words[word] : 0;
      if (words[word] === first) continue;
      for (let at = Math.max(4 * word, from); at < 4 * word + 4; at++) {
        if (memory[at] === (this.#bytes[at] ?? 0)) continue;
        if (start < 0 || at > end + GAP) {
          close();
          start = at;
        }
        end = at + 1;
      }
    }
    close();
  }
}

function writeRun(gap: number, run: Uint8Array, out: Output): void {
  out.byte((Math.min(gap, LONG) << 4) | Math.min(run.length, LONG));
  for (const number of [gap, run.length]) if (number >= LONG) out.varint(number - LONG);
  out.bytes(run);
}

/** Brings a new memory to what was written, to the end of the input. */
export function applyChanges(memory: Uint8Array, input: Input): void {
  for (let end = 0; !input.isDone; ) {
    const both = input.byte();
    const [gap, count] = [long(both >> 4, input), long(both & LONG, input)];
    const at = end + gap;
    end = at + count;
    const bytes = input.take(count);
    if (end > memory.length) throw badState();
    memory.set(bytes, at);
  }
}

/** What half a byte says, with what follows if it is long. */
const long = (half: number, input: Input): number => (half < LONG ? half : input.length() + LONG);

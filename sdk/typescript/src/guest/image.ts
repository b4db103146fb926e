/** Initial memory of a module, and an agent's changes to it. Only the changes are saved and travel. */
import { badState, type Input, type Output } from "./bytes.js";

/** Unchanged bytes between two changes that are written with them: a second header would take as much space. */
const GAP = 1;
/** Least gap or length that does not fit in half a byte. */
const LONG = 15;

/** Memory of a new instance, without trailing zeros. */
export class InitialMemory {
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;

  constructor(
    memory: Uint8Array,
    /** Length with the trailing zeros. */
    readonly length = memory.length,
  ) {
    let end = memory.length;
    while (end > 0 && memory[end - 1] === 0) end--;
    const bytes = new Uint8Array(Math.ceil(end / 4) * 4);
    bytes.set(memory.subarray(0, end));
    this.#bytes = bytes;
    this.#words = new Uint32Array(bytes.buffer);
  }

  /** True if the memory is all zeros. */
  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  /** True if all bytes below this address are zeros. */
  isEmptyBelow(address: number): boolean {
    return this.#bytes.subarray(0, address).every((byte) => byte === 0);
  }

  /** Appends the changes of a memory from an address on. */
  writeChanges(memory: Uint8Array, from: number, out: Output): void {
    const words = new Uint32Array(memory.buffer, memory.byteOffset, memory.length >> 2);
    const known = this.#words.length;
    // Start and end of the current run of changes, and the end of the last written one.
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

/** Applies all changes in the input to a new memory. */
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

/** Decodes half a byte, with the bytes that follow if it is long. */
const long = (half: number, input: Input): number => (half < LONG ? half : input.length() + LONG);

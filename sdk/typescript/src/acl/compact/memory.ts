/** What one direction of a connection remembers: the sender finds what it said before, the receiver keeps what it was told. */
import { DecodeError } from "../errors.js";
import { REMEMBERED_BYTES_MAX } from "../limits.js";

/** The sender's half. When it is full, what was not used for longest makes room (second chance). */
export class Said {
  readonly #numbers = new Map<string, number>();
  readonly #places: ({ readonly key: string; used: boolean } | undefined)[] = [];
  #hand = 0;

  constructor(readonly itemsMax: number) {}

  /** The number of the thing with this key, if the other end knows it. */
  find(key: string): number | undefined {
    const known = this.#numbers.get(key);
    const place = known === undefined ? undefined : this.#places[known];
    if (place) place.used = true;
    return known;
  }

  /** A number by which the other end is to remember a thing that it does not know; undefined if it is too much for that. */
  remember(key: string, bytes: number): number | undefined {
    if (this.itemsMax === 0 || bytes > REMEMBERED_BYTES_MAX) return undefined;
    const number = this.#places.length < this.itemsMax ? this.#places.length : this.#forgetOne();
    this.#places[number] = { key, used: false };
    this.#numbers.set(key, number);
    return number;
  }

  #forgetOne(): number {
    for (;;) {
      this.#hand = (this.#hand + 1) % this.#places.length;
      const place = this.#places[this.#hand];
      if (place?.used) {
        place.used = false;
        continue;
      }
      if (place) this.#numbers.delete(place.key);
      return this.#hand;
    }
  }
}

/** The receiver's half. */
export class Heard<T> {
  readonly #places: (T | undefined)[] = [];

  constructor(readonly itemsMax: number) {}

  /** What has this number. */
  recall(number: number, at: number): T {
    const found = this.#places[number];
    if (found === undefined) throw new DecodeError("malformed", "a number this connection never gave", at);
    return found;
  }

  /** Keeps a thing of so many bytes by this number. */
  remember(number: number, thing: T, bytes: number, at: number): void {
    if (number >= this.itemsMax) throw new DecodeError("malformed", "a number beyond what a connection remembers", at);
    if (bytes > REMEMBERED_BYTES_MAX) throw new DecodeError("malformed", "a longer thing than a connection remembers", at);
    this.#places[number] = thing;
  }
}

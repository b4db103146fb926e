/** Dictionary of one direction of a connection: the sender's keys, and the receiver's items. */
import { DecodeError } from "../errors.js";
import { REMEMBERED_BYTES_MAX } from "../limits.js";

/** Sender's half. When it is full, the item unused for longest is replaced (second chance). */
export class SenderTable {
  readonly #numbers = new Map<string, number>();
  readonly #places: ({ readonly key: string; used: boolean } | undefined)[] = [];
  #hand = 0;

  constructor(readonly itemsMax: number) {}

  /** Returns the number of a known item. */
  find(key: string): number | undefined {
    const known = this.#numbers.get(key);
    const place = known === undefined ? undefined : this.#places[known];
    if (place) place.used = true;
    return known;
  }

  /** Returns a number for a new item; undefined if the item is too long. */
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

/** Receiver's half. */
export class ReceiverTable<T> {
  readonly #places: (T | undefined)[] = [];

  constructor(readonly itemsMax: number) {}

  /** Returns the item of a number. */
  recall(number: number, at: number): T {
    const found = this.#places[number];
    if (found === undefined) throw new DecodeError("malformed", "unknown number in the connection's dictionary", at);
    return found;
  }

  /** Stores an item under a number. */
  remember(number: number, thing: T, bytes: number, at: number): void {
    if (number >= this.itemsMax) throw new DecodeError("malformed", "number beyond the connection's dictionary", at);
    if (bytes > REMEMBERED_BYTES_MAX) throw new DecodeError("malformed", "item too long for the connection's dictionary", at);
    this.#places[number] = thing;
  }
}

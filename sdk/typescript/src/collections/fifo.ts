/** Queue that forgets what it has given away. */

/** Number of free places in front of a queue from which they are removed. */
const FREE_PLACES_MAX = 1024;

/** Items that leave in the order in which they came. Adding and dropping one takes constant time on average. */
export class Fifo<T> implements Iterable<T> {
  readonly #places: (T | undefined)[] = [];
  /** Place of the first item. */
  #first = 0;

  /** Number of items. */
  get size(): number {
    return this.#places.length - this.#first;
  }

  /** Adds an item at the end. */
  push(item: T): void {
    this.#places.push(item);
  }

  /** Returns the item behind so many others; undefined if there are fewer. */
  at(index: number): T | undefined {
    return this.#places[this.#first + index];
  }

  /** Drops items in front. */
  drop(count: number): void {
    const first = Math.min(this.#first + count, this.#places.length);
    // A dropped item takes no memory while its place waits to be removed.
    this.#places.fill(undefined, this.#first, first);
    this.#first = first;
    // Removing places one by one would take quadratic time.
    if (first < this.#places.length && first <= FREE_PLACES_MAX) return;
    this.#places.splice(0, first);
    this.#first = 0;
  }

  /** Drops all items that a test accepts. */
  dropIf(test: (item: T) => boolean): void {
    const left = [...this].filter((item) => !test(item));
    this.#places.length = this.#first = 0;
    // One by one: a call takes a limited number of arguments.
    for (const item of left) this.#places.push(item);
  }

  /** Iterates over the items that are there now. */
  [Symbol.iterator](): Iterator<T> {
    return (this.#places.slice(this.#first) as T[])[Symbol.iterator]();
  }
}

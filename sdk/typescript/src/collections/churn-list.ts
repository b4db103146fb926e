/** List whose items come and go all the time. */

/** Free places that a list may have beyond its items. */
const SPARE_PLACES = 16;

/** An item of a {@link ChurnList}. It belongs to one list at most. */
export interface ListItem {
  /** Place in the list, kept by it; undefined while the item is in none. */
  place?: number | undefined;
}

/**
 * Items in the order in which they came. Adding and deleting one takes constant time on average.
 *
 * A `Map` or `Set` will not do where each request adds and deletes an item: V8 copies its table every few deletions,
 * and a dead copy that has become old keeps the next copy, with all its items, until a full collection. So most of
 * what a thousand requests had made was copied twice before it was freed.
 */
export class ChurnList<T extends ListItem> implements Iterable<T> {
  readonly #places: (T | undefined)[] = [];
  #size = 0;
  /** Number of present walks. Places do not change during a walk. */
  #walks = 0;

  /** Number of items. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item that is in no list. */
  add(item: T): void {
    item.place = this.#places.push(item) - 1;
    this.#size++;
  }

  /** Deletes an item. Returns false if it is not in this list. */
  delete(item: T): boolean {
    const { place } = item;
    if (place === undefined || this.#places[place] !== item) return false;
    this.#places[place] = undefined;
    item.place = undefined;
    this.#size--;
    if (this.#walks === 0 && this.#places.length > 2 * this.#size + SPARE_PLACES) this.#close();
    return true;
  }

  /** Returns the first item that a test accepts. The test may change the list. */
  find(test: (item: T) => boolean): T | undefined {
    this.#walks++;
    try {
      return this.#places.find((item) => item !== undefined && test(item));
    } finally {
      this.#walks--;
    }
  }

  /** Returns the items that are there now. */
  items(): T[] {
    return this.#places.filter((item) => item !== undefined);
  }

  /** Iterates over the items that are there now: the list may change meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.items()[Symbol.iterator]();
  }

  /** Deletes all items. */
  clear(): void {
    for (const item of this) this.delete(item);
  }

  /** Closes the gaps. */
  #close(): void {
    let next = 0;
    for (const item of this.#places) {
      if (item === undefined) continue;
      item.place = next;
      this.#places[next++] = item;
    }
    this.#places.length = next;
  }
}

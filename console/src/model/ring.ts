/** Ring buffer of the newest items. Each item keeps its number. */
export class Ring<T> {
  readonly #items: (T | undefined)[] = [];
  #end = 0;
  #start = 0;

  constructor(readonly capacity: number) {
    if (!(capacity >= 1)) throw new RangeError("invalid capacity of a ring: expected at least 1");
  }

  /** Number of the oldest item. */
  get start(): number {
    return this.#start;
  }

  /** Number of the next item. */
  get end(): number {
    return this.#end;
  }

  get size(): number {
    return this.#end - this.#start;
  }

  push(item: T): void {
    this.#items[this.#end % this.capacity] = item;
    this.#end++;
    if (this.size > this.capacity) this.#start++;
  }

  at(number: number): T | undefined {
    return number >= this.#start && number < this.#end ? this.#items[number % this.capacity] : undefined;
  }

  /** Returns the items from one number to before another, as far as they are kept. */
  slice(from = this.#start, to = this.#end): T[] {
    const items: T[] = [];
    for (let number = Math.max(from, this.#start); number < Math.min(to, this.#end); number++) items.push(this.#items[number % this.capacity] as T);
    return items;
  }

  /** Removes and returns the items from this number on. */
  cut(number: number): T[] {
    const from = Math.max(number, this.#start);
    const items = this.slice(from);
    this.#end = Math.min(this.#end, Math.max(from, this.#start));
    return items;
  }

  clear(): void {
    this.#items.length = 0;
    this.#start = this.#end;
  }
}

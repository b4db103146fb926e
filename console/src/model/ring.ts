/** The newest things of many, in a place that does not grow. Each has a number that stays its own. */
export class Ring<T> {
  readonly #items: (T | undefined)[] = [];
  #end = 0;
  #start = 0;

  constructor(readonly capacity: number) {
    if (!(capacity >= 1)) throw new RangeError("a ring has room for one thing at least");
  }

  /** The number of the oldest that is kept. */
  get start(): number {
    return this.#start;
  }

  /** The number that the next one gets. */
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

  /** Those from one number to before another, as far as they are kept. */
  slice(from = this.#start, to = this.#end): T[] {
    const items: T[] = [];
    for (let number = Math.max(from, this.#start); number < Math.min(to, this.#end); number++) items.push(this.#items[number % this.capacity] as T);
    return items;
  }

  /** Takes the newest away, those from this number on. */
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

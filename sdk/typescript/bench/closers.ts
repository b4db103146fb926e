/** What is to be undone, however a run ends. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];
  #isOver = false;

  /** Undone when it is closed, the latest first. */
  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Whether nothing more is to begin. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** To be called right before anything begins that is to be undone. Throws if nothing more is to begin. */
  goOn(): void {
    if (this.#isOver) throw new Error("it was interrupted");
  }

  /** Undoes everything that was added; failures of one keep no other from being undone. */
  async close(): Promise<void> {
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch {
        // It did not come to be, or is gone.
      }
    }
  }

  /** As {@link close}, and for good. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.close();
  }
}

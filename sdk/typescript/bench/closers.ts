/** Clean-up actions of a run. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];
  #isOver = false;

  /** Adds an action. Actions run in reverse order. */
  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** True after the end: nothing more may begin. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Checks before a start that needs a clean-up. Throws after the end. */
  goOn(): void {
    if (this.#isOver) throw new Error("it was interrupted");
  }

  /** Runs all actions. A failure does not stop the others. */
  async close(): Promise<void> {
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch {
        // The resource never existed, or is gone.
      }
    }
  }

  /** Runs all actions, and permits no new ones. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.close();
  }
}

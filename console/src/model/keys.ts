/** Keys: `/`, `?`, `j`, and two in a row such as `g s`. Pure, so that it can be tried without a keyboard. */

/** How long the first of two keys is remembered, in milliseconds. */
const SEQUENCE_MS = 1_200;

export interface Key {
  readonly key: string;
  readonly ctrl: boolean;
  /** Where text is written keys are text. */
  readonly inText: boolean;
}

export class Keys {
  #first = "";
  #firstAt = -Infinity;
  readonly #bound = new Map<string, () => void>();

  /** Until the function that is returned is called; whoever comes later has the key first. */
  bind(keys: string, run: () => void): () => void {
    const before = this.#bound.get(keys);
    this.#bound.set(keys, run);
    return () => {
      if (this.#bound.get(keys) !== run) return;
      if (before) this.#bound.set(keys, before);
      else this.#bound.delete(keys);
    };
  }

  /** Whether the key did something. */
  press({ key, ctrl, inText }: Key, nowMs: number): boolean {
    if (ctrl || inText) {
      this.#first = "";
      return false;
    }
    const isSecond = this.#first !== "" && nowMs - this.#firstAt < SEQUENCE_MS;
    const both = isSecond ? this.#bound.get(`${this.#first} ${key}`) : undefined;
    this.#first = "";
    const run = both ?? this.#bound.get(key);
    if (run) {
      run();
      return true;
    }
    if ([...this.#bound.keys()].some((keys) => keys.startsWith(`${key} `))) {
      this.#first = key;
      this.#firstAt = nowMs;
      return true;
    }
    return false;
  }
}

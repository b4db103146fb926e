/** Key bindings: `/`, `?`, `j`, and sequences of two such as `g s`. Pure, so that tests need no keyboard. */

/** Time limit for the second key of a sequence, in milliseconds. */
const SEQUENCE_MS = 1_200;

export interface Key {
  readonly key: string;
  readonly ctrl: boolean;
  /** True in a text field, where keys are text. */
  readonly inText: boolean;
}

export class Keys {
  #first = "";
  #firstAt = -Infinity;
  readonly #bound = new Map<string, () => void>();

  /** Binds a key. The latest binding wins; the returned function restores the previous one. */
  bind(keys: string, run: () => void): () => void {
    const before = this.#bound.get(keys);
    this.#bound.set(keys, run);
    return () => {
      if (this.#bound.get(keys) !== run) return;
      if (before) this.#bound.set(keys, before);
      else this.#bound.delete(keys);
    };
  }

  /** Handles a key press. Returns true if the key is bound. */
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

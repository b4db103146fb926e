/** Storage of guests beside their memory. It stays at its place when they move. */
import { STORAGE_BYTES, STORAGE_KEY_BYTES_MAX, STORAGE_KEYS_LISTED_MAX, STORAGE_KEYS_MAX, STORAGE_VALUE_BYTES_MAX } from "./limits.js";

const encoder = new TextEncoder();

/** Reasons for a refusal. */
export type StorageRefusal = "malformed" | "full" | "quota";

/** Storage of an agent and its clones, for the lifetime of this program. */
export class GuestStorage {
  readonly #values = new Map<string, Uint8Array>();
  #bytes = 0;

  get(key: string): Uint8Array | undefined {
    return this.#values.get(key);
  }

  /** Stores bytes under a key. Returns the reason of a refusal. */
  put(key: string, value: Uint8Array): { readonly why: StorageRefusal; readonly text: string } | undefined {
    const length = encoder.encode(key).length;
    if (length < 1 || length > STORAGE_KEY_BYTES_MAX) return { why: "malformed", text: `invalid storage key of ${length} bytes: expected 1 to ${STORAGE_KEY_BYTES_MAX}` };
    if (value.length > STORAGE_VALUE_BYTES_MAX) return { why: "malformed", text: `storage value too long: ${value.length} bytes, the limit is ${STORAGE_VALUE_BYTES_MAX}` };
    const before = this.#values.get(key);
    if (!before && this.#values.size >= STORAGE_KEYS_MAX) return { why: "full", text: `storage full: the limit is ${STORAGE_KEYS_MAX} keys` };
    const bytes = this.#bytes + value.length - (before?.length ?? -length);
    if (bytes > STORAGE_BYTES) return { why: "quota", text: `its storage would have ${bytes} bytes, the limit is ${STORAGE_BYTES} (quota storage_bytes)` };
    this.#bytes = bytes;
    this.#values.set(key, value);
    return undefined;
  }

  /** Deletes a key. Returns true if it existed. */
  delete(key: string): boolean {
    const value = this.#values.get(key);
    if (value) this.#bytes -= value.length + encoder.encode(key).length;
    return this.#values.delete(key);
  }

  /** Returns the keys with a prefix after `after`, ordered by their bytes. */
  keys(prefix: string, after: string): string[] {
    const found = [...this.#values.keys()].filter((key) => key.startsWith(prefix) && compareBytes(key, after) > 0);
    return found.sort(compareBytes).slice(0, STORAGE_KEYS_LISTED_MAX);
  }
}

function compareBytes(one: string, other: string): number {
  const [left, right] = [encoder.encode(one), encoder.encode(other)];
  const at = left.findIndex((byte, index) => byte !== right[index]);
  return at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
}

/** Source of time for a society. Tests and lessons may replace the machine's clock. */
export interface Clock {
  /** Monotonic time in milliseconds. */
  now(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  /** Calls back after `ms` milliseconds. The returned function cancels the call. */
  after(ms: number, call: () => void): () => void;
}

/** Longest delay of a JavaScript timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Calls back after pending events. Browsers delay nested timers by 4 ms, so this uses `setImmediate` or a message port.
 */
const soon: (call: () => void) => () => void = (() => {
  const { setImmediate, clearImmediate } = globalThis as {
    readonly setImmediate?: (call: () => void) => unknown;
    readonly clearImmediate?: (handle: unknown) => void;
  };
  if (setImmediate && clearImmediate) {
    return (call) => {
      const handle = setImmediate(call);
      return () => clearImmediate(handle);
    };
  }
  const calls = new Map<number, () => void>();
  const { port1, port2 } = new MessageChannel();
  let last = 0;
  port1.onmessage = ({ data }) => {
    const call = calls.get(data as number);
    calls.delete(data as number);
    call?.();
  };
  return (call) => {
    const number = ++last;
    calls.set(number, call);
    port2.postMessage(number);
    return () => void calls.delete(number);
  };
})();

/** The clock of this machine. */
export const clock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after: (ms, call) => {
    if (ms <= 0) return soon(call);
    const handle = setTimeout(call, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(handle);
  },
};

/** Time, as a society on a device needs it. A test, or a lesson, may have another than the clock on the wall. */
export interface Clock {
  /** Milliseconds of a clock that does not go back. */
  now(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  /** Calls back after so many milliseconds; what is returned takes that back. */
  after(ms: number, call: () => void): () => void;
}

/** The longest that a timer of JavaScript can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Calls back when other things had their chance. Timers would do, but browsers have them wait for 4 ms when they follow each other. */
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

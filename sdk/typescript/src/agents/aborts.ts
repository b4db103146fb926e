/** Callbacks by signal. Each signal gets one listener, because Node warns of more than ten. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal is aborted. The returned function cancels the call. */
export function whenAborted(signal: AbortSignal, what: () => void): () => void {
  const calls = waiting.get(signal) ?? new Set();
  if (!waiting.has(signal)) {
    waiting.set(signal, calls);
    signal.addEventListener("abort", () => calls.forEach((call) => call()), { once: true });
  }
  calls.add(what);
  return () => void calls.delete(what);
}

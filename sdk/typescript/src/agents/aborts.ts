/** What is called when a signal says so, by one listener of each signal: of more than ten Node warns. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal is aborted, unless that is taken back before by what is returned. */
export function whenAborted(signal: AbortSignal, what: () => void): () => void {
  const calls = waiting.get(signal) ?? new Set();
  if (!waiting.has(signal)) {
    waiting.set(signal, calls);
    signal.addEventListener("abort", () => calls.forEach((call) => call()), { once: true });
  }
  calls.add(what);
  return () => void calls.delete(what);
}

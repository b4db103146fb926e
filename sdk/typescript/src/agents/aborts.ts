/** What is called when a signal says so: any number of things by one listener, as Node warns of more than ten. */
const waiting = new WeakMap<AbortSignal, { readonly calls: Set<() => void>; readonly fire: () => void }>();

/** Calls back once when the signal is aborted, unless that is taken back before by what is returned. */
export function whenAborted(signal: AbortSignal, what: () => void): () => void {
  const { calls, fire } = waiting.get(signal) ?? listenTo(signal);
  calls.add(what);
  return () => {
    if (!calls.delete(what) || calls.size > 0) return;
    signal.removeEventListener("abort", fire);
    waiting.delete(signal);
  };
}

function listenTo(signal: AbortSignal): { readonly calls: Set<() => void>; readonly fire: () => void } {
  const calls = new Set<() => void>();
  const fire = (): void => {
    for (const call of [...calls]) if (calls.delete(call)) call();
  };
  signal.addEventListener("abort", fire, { once: true });
  const both = { calls, fire };
  waiting.set(signal, both);
  return both;
}

import { ChurnList, type ListItem } from "../collections/churn-list.js";

interface AbortCallback extends ListItem {
  readonly call: () => void;
}

/** Callbacks by signal. Each signal gets one listener, because Node warns of more than ten. */
const waiting = new WeakMap<AbortSignal, ChurnList<AbortCallback>>();

/** Calls back when the signal is aborted. The returned function cancels the call. */
export function whenAborted(signal: AbortSignal, what: () => void): () => void {
  const calls = waiting.get(signal) ?? callbacksOf(signal);
  const callback: AbortCallback = { call: what };
  calls.add(callback);
  return () => void calls.delete(callback);
}

function callbacksOf(signal: AbortSignal): ChurnList<AbortCallback> {
  const calls = new ChurnList<AbortCallback>();
  waiting.set(signal, calls);
  const callAll = (): void => {
    // One callback may cancel another one.
    for (const callback of calls) if (callback.place !== undefined) callback.call();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return calls;
}

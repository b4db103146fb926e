import { ChurnList, type ListItem } from "../collections/churn-list.js";

interface AbortCallback extends ListItem {
  readonly call: () => void;
}

/** Callbacks by signal. Each signal gets one listener, because Node warns of more than ten. */
const waiting = new WeakMap<AbortSignal, ChurnList<AbortCallback>>();

/** Calls back when the signal is aborted. The returned function cancels the call. */
export function whenAborted(signal: AbortSignal, what: () => void): () => void {
  const calls = waiting.get(signal) ?? callbacksOf(signal);
  const callback = { call: what };
  calls.add(callback);
  return () => void calls.delete(callback);
}

function callbacksOf(signal: AbortSignal): ChurnList<AbortCallback> {
  const calls = new ChurnList<AbortCallback>();
  waiting.set(signal, calls);
  signal.addEventListener("abort", () => calls.items().forEach(({ call }) => call()), { once: true });
  return calls;
}

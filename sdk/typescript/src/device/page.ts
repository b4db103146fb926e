/** The page of a device: battery, visibility, and the moments at which it wakes. */
import { WAKE_EVENTS } from "../session/driver.js";

/** The browser's battery interface; few browsers have it. */
export interface BatteryManager extends EventTarget {
  readonly level: number;
  readonly charging: boolean;
}

/** Delay before the first retry. It doubles with each failure. */
const AGAIN_MS_MIN = 500;
/** Longest delay before a retry. */
const AGAIN_MS_MAX = 30_000;

/** Returns the page's battery; undefined where browsers have none. Some never answer. */
export async function battery(): Promise<BatteryManager | undefined> {
  const navigator = globalThis.navigator as { getBattery?: () => Promise<BatteryManager> } | undefined;
  return navigator?.getBattery?.().catch(() => undefined);
}

/** Returns true if the page is hidden. Browsers give hidden pages little time. */
export function isHidden(): boolean {
  return globalThis.document?.visibilityState === "hidden";
}

/** Waits for a promise, but at most `ms` milliseconds. */
export async function waitAtMost(ms: number, what: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([what, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}

/**
 * Waits before a retry. The delay grows with the number of failures and has a random part, so that devices do not all
 * return at once. It ends early when the network returns, when the page wakes, and when `over` is aborted.
 */
export function retryDelay(failures: number, over: AbortSignal): Promise<void> {
  const most = Math.min(AGAIN_MS_MIN * 2 ** (failures - 1), AGAIN_MS_MAX);
  return new Promise((resolve) => {
    const goOn = (): void => {
      clearTimeout(timer);
      for (const type of WAKE_EVENTS) globalThis.removeEventListener?.(type, goOn);
      over.removeEventListener("abort", goOn);
      resolve();
    };
    const timer = setTimeout(goOn, most * (0.5 + Math.random() / 2));
    for (const type of WAKE_EVENTS) globalThis.addEventListener?.(type, goOn);
    over.addEventListener("abort", goOn);
    if (over.aborted) goOn();
  });
}

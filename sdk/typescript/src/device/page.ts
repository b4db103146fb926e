/** What a device knows of the page that it is, and of the moments at which that wakes. */
import { WAKING } from "../session/driver.js";

/** What browsers tell of their battery; few do. */
export interface BatteryManager extends EventTarget {
  readonly level: number;
  readonly charging: boolean;
}

/** How long to wait before something that failed is tried again, the first time; twice as long after each failure. */
const AGAIN_MS_MIN = 500;
/** The longest such wait. */
const AGAIN_MS_MAX = 30_000;

/** The page's battery; undefined where browsers do not tell. Some never answer. */
export async function battery(): Promise<BatteryManager | undefined> {
  const navigator = globalThis.navigator as { getBattery?: () => Promise<BatteryManager> } | undefined;
  return navigator?.getBattery?.().catch(() => undefined);
}

/** Whether nobody sees the page. Browsers give those little time. */
export function isHidden(): boolean {
  return globalThis.document?.visibilityState === "hidden";
}

/** Waits for something, but no longer than so many milliseconds. */
export async function within(ms: number, what: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([what, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}

/**
 * Waits before something is tried again that failed so often: longer and longer, and a while that chance says, lest all devices of a node come back at the same moment. What waits goes on at
 * once when the network is there again, when the page was asleep, and when all is over.
 */
export function again(failures: number, over: AbortSignal): Promise<void> {
  const most = Math.min(AGAIN_MS_MIN * 2 ** (failures - 1), AGAIN_MS_MAX);
  return new Promise((resolve) => {
    const goOn = (): void => {
      clearTimeout(timer);
      for (const type of WAKING) globalThis.removeEventListener?.(type, goOn);
      over.removeEventListener("abort", goOn);
      resolve();
    };
    const timer = setTimeout(goOn, most * (0.5 + Math.random() / 2));
    for (const type of WAKING) globalThis.addEventListener?.(type, goOn);
    over.addEventListener("abort", goOn);
    if (over.aborted) goOn();
  });
}

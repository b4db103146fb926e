/** The devices that take part: tabs, phones, volunteers' machines. */
import { signal } from "@preact/signals";
import type { DeviceInfo, WatchFrame } from "../live/vocabulary.js";

export class Devices {
  /** Reported devices, by name. */
  readonly all = signal<readonly DeviceInfo[]>([]);
  /** Number of devices. */
  readonly total = signal(0);

  hear(frame: WatchFrame): void {
    if (frame.type !== "answer" || frame.answer.answer !== "devices") return;
    this.all.value = frame.answer.devices;
    this.total.value = frame.answer.total;
  }
}

/** Returns the reason why a device gets less work than it could do; empty if there is none. */
export function restriction({ units, units_now, visible, battery, workers, shunned }: DeviceInfo): string {
  if (shunned) return "excluded: it returned wrong results or none";
  if (workers === 0) return "the user allows no workers";
  if (units_now === 0 && battery) return `battery low: ${battery.percent} %`;
  if (!visible) return "page hidden: browsers slow it down";
  return units_now < units ? "slower than usual" : "";
}

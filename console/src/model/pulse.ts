/** Notification of data that changes thousands of times a second and is drawn once a frame. */
import { signal, type ReadonlySignal } from "@preact/signals";

export type Schedule = (run: () => void) => void;

let schedule: Schedule = typeof requestAnimationFrame === "function" ? (run) => void requestAnimationFrame(run) : (run) => run();

/** Replaces the scheduler of frames, for tests. */
export function scheduleFramesWith(other: Schedule): void {
  schedule = other;
}

/** Notifies views of changes, at most once a frame. */
export class Pulse {
  readonly #version = signal(0);
  #isDue = false;

  get version(): ReadonlySignal<number> {
    return this.#version;
  }

  touch(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    schedule(() => {
      this.#isDue = false;
      this.#version.value++;
    });
  }
}

/** Hooks that views share. */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Refusal, Watch, WatchFrame } from "../live/vocabulary.js";
import { keys, live } from "../session.js";

/** Watches while the view is shown. Another key starts another watch. */
export function useWatch(key: string, wanted: Watch | null, on: (frame: WatchFrame) => void, refused?: (refusal: Refusal) => void): void {
  useEffect(() => (wanted ? live.watch(wanted, on, refused) : undefined), [key]);
}

/** Binds keys while the view is shown, as soon as it is seen: an effect after painting may come much later. */
export function useKeys(bindings: Readonly<Record<string, () => void>>): void {
  const newest = useRef(bindings);
  newest.current = bindings;
  useLayoutEffect(() => {
    const undo = Object.keys(bindings).map((key) => keys.bind(key, () => newest.current[key]?.()));
    return () => undo.forEach((unbind) => unbind());
    // A view may bind other keys in another layout.
  }, [Object.keys(bindings).join("\n")]);
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Returns a reference to an element, and its size. */
export function useSize<E extends HTMLElement>(): [{ readonly current: E | null }, ReadonlySignal<Size>] {
  const element = useRef<E>(null);
  const size = useSignal<Size>({ width: 0, height: 0 });
  useEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) size.value = { width: entry.contentRect.width, height: entry.contentRect.height };
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, size];
}

/** Adapts a canvas to the screen's resolution. Null if the canvas is not visible. */
export function prepare(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (w === 0 || h === 0) return null;
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/** Icons, 20 by 20. */
import type { View } from "../model/route.js";

const PATHS = {
  society: "M6.5 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM14.5 16.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM14.5 7a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM8.3 7.8l4.9 5.2M9 5.8l4-.2M6 8.5v4.5",
  conversations: "M4 3v14M10 3v14M16 3v14M4 7h5M7.5 5.5 9 7 7.5 8.5M16 12.5h-5M12.5 11 11 12.5l1.5 1.5",
  output: "M3 4.5h14v11H3v-11ZM6 8l2.5 2L6 12M10.5 12.5H14",
  mind: "M10 3a5.5 5.5 0 0 0-3.5 9.7c.7.6 1 1.3 1 2.3h5c0-1 .3-1.7 1-2.3A5.5 5.5 0 0 0 10 3ZM8 17.5h4",
  directory: "M4 4.5A1.5 1.5 0 0 1 5.5 3H16v14H5.5A1.5 1.5 0 0 1 4 15.5v-11ZM4 14.5h12M7.5 6.5h5M7.5 9h5",
  compose: "M3.5 16.5 4 13l9-9 3 3-9 9-3.5.5ZM11.5 5.5l3 3",
  health: "M2.5 10.5H6l2-6 4 11 2-5h3.5",
  mobility: "M3 6h10M10.5 3.5 13 6l-2.5 2.5M17 14H7M9.5 11.5 7 14l2.5 2.5",
  security: "M10 2.5l6 2v5c0 4-2.5 6.5-6 8-3.5-1.5-6-4-6-8v-5l6-2ZM7.5 10l1.8 1.8L12.8 8",
  close: "M5 5l10 10M15 5 5 15",
  search: "M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM12.5 12.5 17 17",
  pause: "M7 4v12M13 4v12",
  play: "M6 4l10 6-10 6V4Z",
  step: "M5 4l7 6-7 6V4ZM15 4v12",
  sun: "M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M15.7 4.3l-1.1 1.1M5.4 14.6l-1.1 1.1",
  help: "M7.5 7.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M10 14.5v.1M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15Z",
  down: "M5 8l5 5 5-5",
  back: "M12 5l-5 5 5 5",
  on: "M8 5l5 5-5 5",
  up: "M5 12l5-5 5 5",
  move: "M3 10h12M11 6l4 4-4 4",
  copy: "M7 7h9v9H7V7ZM4 13V4h9",
  kill: "M5 6h10M8 6V4h4v2M6.5 6l.7 10h5.6l.7-10",
  send: "M3 10l14-6-5 13-3-5.5L3 10Z",
  export: "M10 3v9M6.5 8.5 10 12l3.5-3.5M4 16h12",
  reply: "M8 5 4 9l4 4M4 9h7c3 0 5 2 5 5v1",
  plus: "M10 4v12M4 10h12",
  filter: "M3 5h14M6 10h8M8.5 15h3",
  target: "M10 16a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM10 2v4M10 14v4M2 10h4M14 10h4",
} satisfies Record<View, string> & Record<string, string>;

export type IconName = keyof typeof PATHS;

export function Icon({ of }: { readonly of: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[of]} />
    </svg>
  );
}

/** The logo: head, bill, back and belly, two legs. */
export function Logo() {
  return (
    <svg class="bird" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M11.5 7.6C7.4 7 4 9.6 2.4 15.2" />
      <path d="M11.4 7.8c2.3-2 5.3-.4 5.1 2.5-.2 2.6 1 3.9 3.6 4.7 3.6 1.1 6.5 2.4 9.5 5.4-3.6 1-6.7 1.5-10.3 1.1-5.8-.6-8.6-5.2-6.9-10.2" />
      <path d="M17.6 21.2 16.6 29.5M21.6 21.7l1 7.8" />
    </svg>
  );
}

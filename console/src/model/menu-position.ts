/** Position of a list that a button opens. */

interface Extent {
  readonly width: number;
  readonly height: number;
}

/** Distance to the button and to the window's edge, in pixels. */
const GAP_PX = 4;

/** Returns a position below the button, or above it if there is more room, and inside the window. */
export function menuPosition(button: { readonly left: number; readonly top: number; readonly bottom: number }, list: Extent, window: Extent): { readonly left: number; readonly top: number } {
  const below = window.height - button.bottom - 2 * GAP_PX;
  const isAbove = list.height > below && button.top > window.height - button.bottom;
  const top = isAbove ? button.top - GAP_PX - list.height : button.bottom + GAP_PX;
  return { left: Math.max(GAP_PX, Math.min(button.left, window.width - list.width - GAP_PX)), top: Math.max(GAP_PX, Math.min(top, window.height - list.height - GAP_PX)) };
}

import "uplot/dist/uPlot.min.css";
import "./style/fonts.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/views.css";
import { render } from "preact";
import { listenEarly } from "./views/conversations.js";
import { listenToOutput } from "./all-output.js";
import { agents, AGENTS_MAX, devices, DEVICES_MAX, followAddress, keys, live, society } from "./session.js";
import { Shell } from "./shell.js";
import { startTheme } from "./theme.js";

/** Returns true for elements in which text is typed. */
function isText(element: EventTarget | null): boolean {
  return element instanceof HTMLElement && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));
}

startTheme();
followAddress();
live.watch({ what: "society", every_ms: 500 }, (frame) => {
  if (frame.type !== "society") return;
  society.hear(frame);
  if (frame.node.ended) agents.keepEnded();
});
live.watch({ what: "agents", wanted: { limit: AGENTS_MAX, elsewhere_but: [] }, every_ms: 1000 }, (frame) => agents.hear(frame));
live.watch({ what: "answer", request: { request: "devices", limit: DEVICES_MAX }, every_ms: 1000 }, (frame) => devices.hear(frame));
listenToOutput();
listenEarly();
live.connect();

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && isText(event.target)) {
    // The first Escape leaves the field; the next one acts on the view.
    (event.target as HTMLElement).blur();
    return;
  }
  const isOwn = (event.key === "Enter" || event.key === " ") && event.target instanceof HTMLElement && event.target.closest("button, a, summary") !== null;
  if (isOwn) return;
  if (keys.press({ key: event.key, ctrl: event.ctrlKey || event.metaKey || event.altKey, inText: isText(event.target) }, event.timeStamp)) event.preventDefault();
});
window.addEventListener("online", () => {
  if (!live.isLive) live.connect();
});

const root = document.getElementById("console");
if (root) render(<Shell />, root);

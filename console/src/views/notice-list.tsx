/** List of notices about moves and refusals, with a pane for the chosen one. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Event } from "../live/vocabulary.js";
import { eventText } from "../model/event-text.js";
import { clock, count, date, visible } from "../model/format.js";
import { useKeys } from "../parts/hooks.js";
import { Facts, Pane } from "../parts/pane.js";
import { Name } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";

/** Members with a place of their own. The others are listed by name. */
const SHOWN = new Set(["at_us", "node", "event", "agent", "who", "text", "sentence"]);

/** Returns the key of a notice. Equal notices in one microsecond share it. */
function keyOf(event: Event): string {
  return `${event.at_us} ${event.node} ${whoOf(event)} ${"object" in event ? event.object : ""}`;
}

/** Returns the agent or actor of a notice. */
function whoOf(event: Event): string {
  return "agent" in event ? event.agent : "who" in event ? event.who : "";
}

function wordsOf(event: Event): string {
  if (event.event === "refused" || event.event === "allowed") {
    if (event.sentence !== undefined && event.sentence !== "") return event.sentence;
    const first = event.event === "refused" ? event.reason.replaceAll("_", " ") : event.from;
    const times = event.count === undefined ? "" : `${count(event.count)} times`;
    return [times, first, event.action, event.object, event.text].filter((part) => part !== null && part !== undefined && part !== "").join(" · ");
  }
  return eventText(event);
}

interface Props {
  readonly items: readonly Event[];
  readonly label: string;
  readonly empty: ComponentChildren;
  readonly above: ComponentChildren;
  readonly below?: ComponentChildren;
}

export function NoticeList({ items, label, empty, above, below }: Props) {
  const chosen = useSignal<Event | null>(null);
  useKeys({ Escape: () => (chosen.value = null) });
  const notice = chosen.value;
  return (
    <div class={`split ${notice ? "has-pane" : ""}`}>
      <section class="panel is-fill">
        {above}
        <div class="table-head notice-row">
          <span>Time, UTC</span>
          <span class="is-wide">Event</span>
          <span>Subject</span>
          <span>Description</span>
          <span class="is-wide">Node</span>
        </div>
        <VirtualList
          items={items}
          rowHeight={30}
          label={label}
          keyOf={keyOf}
          selected={notice ? keyOf(notice) : null}
          onSelect={(item) => (chosen.value = item)}
          rowClass="notice-row"
          empty={empty}
          row={(item) => (
            <>
              <time class="mono" title={date(item.at_us)}>
                {clock(item.at_us)}
              </time>
              <span class="is-wide">{visible(item.event, 30).replaceAll("_", " ")}</span>
              <Name of={whoOf(item)} />
              <span class="cut">{visible(wordsOf(item), 300)}</span>
              <span class="is-wide is-quiet cut">{visible(item.node, 24)}</span>
            </>
          )}
        />
        {below}
      </section>
      {notice ? (
        <Pane title={visible(notice.event, 30).replaceAll("_", " ")} label="Details" onClose={() => (chosen.value = null)}>
          <p>{visible(wordsOf(notice), 2000)}</p>
          <Facts
            of={[
              ["Time", date(notice.at_us)],
              ["Node", visible(notice.node)],
              ["Subject", whoOf(notice) === "" ? null : <Name of={whoOf(notice)} />],
              ...Object.entries(notice).flatMap(([name, value]) => (SHOWN.has(name) || value === null ? [] : [[name.replaceAll("_", " "), visible(typeof value === "string" ? value : JSON.stringify(value))] as const])),
            ]}
          />
        </Pane>
      ) : null}
    </div>
  );
}

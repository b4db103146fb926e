/** Mobility and Security: what the node tells of agents that move, and of what its policy refused. */
import { signal, useSignal } from "@preact/signals";
import type { Event } from "../live/vocabulary.js";
import { clock, date, visible } from "../model/format.js";
import { Facts, Pane } from "../parts/pane.js";
import { aside } from "../model/aside.js";
import { useKeys, useWatch } from "../parts/hooks.js";
import { Empty, Name } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";

const NOTICES_MAX = 2_000;

const moves = signal<readonly Event[]>([]);
const refusals = signal<readonly Event[]>([]);
/** Members that are shown as such; all others are told by their names. */
const SHOWN = new Set(["at_us", "node", "event", "agent", "who", "text"]);

/** Whom it is about. */
function whoOf(event: Event): string {
  return "agent" in event ? event.agent : "who" in event ? event.who : "";
}

function wordsOf(event: Event): string {
  if (event.event === "refused") return [event.reason.replaceAll("_", " "), event.action, event.object, event.text].filter((part) => part !== null && part !== "").join(" · ");
  return aside(event);
}

function Notices({ what, kept, none }: { readonly what: "mobility" | "security"; readonly kept: typeof moves; readonly none: { readonly title: string; readonly why: string } }) {
  const refusal = useSignal("");
  const chosen = useSignal<Event | null>(null);
  useWatch(
    what,
    { what },
    (frame) => {
      if (frame.type !== "events") return;
      // What was refused lately is told again to whoever looks anew.
      const known = new Set(what === "security" ? kept.value.map((event) => JSON.stringify(event)) : []);
      const news = frame.events.filter((event) => event.event !== "tick" && !known.has(JSON.stringify(event)));
      if (news.length > 0) kept.value = [...kept.value, ...news].slice(-NOTICES_MAX);
    },
    ({ text }) => (refusal.value = text),
  );
  useKeys({ Escape: () => (chosen.value = null) });
  const newestFirst = [...kept.value].reverse();
  const notice = chosen.value;
  return (
    <div class={`split ${notice ? "has-pane" : ""}`}>
      <section class="panel is-fill">
        <div class="table-head notice-row">
          <span>Time, UTC</span>
          <span>What</span>
          <span>Who</span>
          <span class="is-wide">In words</span>
        </div>
        <VirtualList
          items={newestFirst}
          rowHeight={30}
          label={what}
          keyOf={(item) => kept.value.indexOf(item)}
          selected={notice ? kept.value.indexOf(notice) : null}
          onSelect={(item) => (chosen.value = item)}
          rowClass="notice-row"
          empty={<Empty title={refusal.value ? "The node does not tell" : none.title}>{refusal.value || none.why}</Empty>}
          row={(item) => (
            <>
              <time class="mono">{clock(item.at_us)}</time>
              <span>{visible(item.event, 30).replaceAll("_", " ")}</span>
              <Name of={whoOf(item)} />
              <span class="is-wide cut">{visible(wordsOf(item), 300)}</span>
            </>
          )}
        />
      </section>
      {notice ? (
        <Pane title={visible(notice.event, 30).replaceAll("_", " ")} label="Details" onClose={() => (chosen.value = null)}>
          <p>{visible(wordsOf(notice), 2000)}</p>
          <Facts
            of={[
              ["Time", date(notice.at_us)],
              ["Node", visible(notice.node)],
              ["Who", whoOf(notice) === "" ? null : <Name of={whoOf(notice)} />],
              ...Object.entries(notice).flatMap(([name, value]) => (SHOWN.has(name) || value === null ? [] : [[name.replaceAll("_", " "), visible(typeof value === "string" ? value : JSON.stringify(value))] as const])),
            ]}
          />
        </Pane>
      ) : null}
    </div>
  );
}

export function MobilityView() {
  return <Notices what="mobility" kept={moves} none={{ title: "No agent moved yet", why: "Hops of agents between nodes stand here as they happen, since this view was opened first." }} />;
}

export function SecurityView() {
  return <Notices what="security" kept={refusals} none={{ title: "Nothing was refused yet", why: "What the policy or the links refuse stands here as it happens, since this view was opened first." }} />;
}

/** Conversations view: messages as a sequence diagram or as lines, live and in the past. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Event, SniffWanted, Watch } from "../live/vocabulary.js";
import { eventText } from "../model/event-text.js";
import { toJson, toMermaid, toSvg } from "../model/export.js";
import { clock, count, visible } from "../model/format.js";
import { Lanes } from "../model/lanes.js";
import { ALL_EVENTS, indexAt, isMessage, sniffWanted, type EventFilter } from "../model/recording.js";
import { useKeys } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { Menu } from "../parts/menu.js";
import { Empty, Name, Performative } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { FEW_NODES, unheard, pollOtherNodes } from "../other-nodes.js";
import { SilentNodes } from "../parts/all-nodes.js";
import { NodeSelect } from "../parts/node-select.js";
import { go, live, route, say, recording, society } from "../session.js";
import { Diagram } from "./diagram.js";
import { MessagePane } from "./message.js";
import { Filters, isAny } from "./event-filters.js";
import { Timeline } from "./timeline.js";

/** Events at the moment of the pause. */
interface Still {
  readonly events: readonly Event[];
  readonly endNumber: number;
}
const still = signal<Still | null>(null);
const chosen = signal<Event | null>(null);
/** On a phone: true to show the rarely used controls. */
const showsMore = signal(false);
const isPhone = matchMedia("(max-width: 720px)");
const shape = signal<"diagram" | "lines">(isPhone.matches ? "lines" : "diagram");
/** Source of messages. The log begins with the first recorded message; without a log this falls back to `live`. */
const source = signal<"live" | "log">("log");
/** Row to scroll to, after a step or a click on the timeline. */
const goal = signal<{ readonly index: number } | null>(null);
const lanes = new Lanes();

/** Time without a change after which a filter is sent to the node, in milliseconds. */
const TYPING_MS = 250;

/** Rows of the live view. More pass too quickly to be read. */
const LIVE_ROWS_MAX = 2_000;

/** False once the node reported that it keeps no log. */
const hasLog = signal(true);
let stopListening: (() => void) | undefined;
let stopElsewhere: (() => void) | undefined;
let listensTo = "";
let hearsElsewhere = "";

/** Age up to which other nodes' logs are read, unless one conversation is chosen. */
const ELSEWHERE_AGO_MS = 600_000;

/** Starts listening. It continues after the view is left, so that nothing is missed. */
function listen(filter: EventFilter): void {
  const isLog = source.value === "log" && live.offers("log");
  const key = `${isLog ? "log" : "live"} ${JSON.stringify(sniffWanted(filter))}`;
  if (key === listensTo) return;
  // Old messages stay until the log has arrived, because the node may have none.
  let isStale = isLog || (listensTo.startsWith("log ") && hasLog.value);
  listensTo = key;
  stopListening?.();
  const { agents, ...wanted } = sniffWanted(filter);
  const begin = () => {
    if (isStale) recording.clear();
    // Messages of other nodes were cleared, too.
    listenElsewhere(wanted, isLog, isStale);
    isStale = false;
  };
  if (!isLog) begin();
  // The log filters senders and receivers separately, so agents are filtered here.
  const watch = (): Watch => (isLog ? { what: "log", wanted: { since: isStale ? 0 : recording.logNumber, follow: true, ...wanted } } : { what: "events", wanted: { agents: agents ?? [], ...wanted } });
  stopListening = live.watch(
    watch,
    (frame) => {
      if (frame.type === "events") recording.hear(frame.events);
      if (frame.type !== "log") return;
      begin();
      recording.hearLog(frame.lines);
    },
    ({ reason, text }) => {
      if (isLog && reason === "no_log") hasLog.value = false;
      else say(text, true);
      if (isLog) source.value = "live";
    },
  );
}

/** Number of messages from which the page stops to listen while the view was never open. */
const EARLY_MAX = 5_000;
let wasOpen = false;

/** Listens before the view is open, so that the first messages of a node without a log are not lost. */
export function listenEarly(): void {
  live.welcome.subscribe((welcome) => {
    if (!welcome || listensTo !== "") return;
    const { agents, ...wanted } = sniffWanted(ALL_EVENTS);
    listensTo = `live ${JSON.stringify(sniffWanted(ALL_EVENTS))}`;
    if (society.others.value.split("\n").length <= FEW_NODES) listenElsewhere(wanted, false, false);
    stopListening = live.watch({ what: "events", wanted: { agents: agents ?? [], ...wanted } }, (frame) => {
      if (frame.type === "events") recording.hear(frame.events);
      if (!wasOpen && recording.all.size > EARLY_MAX) stopEarly();
    });
  });
}

function stopEarly(): void {
  stopListening?.();
  stopElsewhere?.();
  [stopListening, stopElsewhere, hearsElsewhere] = [undefined, undefined, ""];
  // A view that is opened later listens again.
  listensTo = "live nothing";
  recording.hear([{ event: "missed", at_us: Date.now() * 1000, node: "" }]);
}

/** Listens to other nodes: to the whole of one conversation, or else to recent and new messages. */
function listenElsewhere(wanted: Pick<SniffWanted, "conversation" | "performatives">, isLog: boolean, isAnew: boolean): void {
  if (!live.offers("at") || (!live.offers("conversations") && !live.offers("events"))) return;
  const key = JSON.stringify([wanted, isLog]);
  if (key === hearsElsewhere && !isAnew) return;
  hearsElsewhere = key;
  stopElsewhere?.();
  const { conversation = null, performatives = [] } = wanted;
  const sinceMs = isLog ? (conversation === null ? Date.now() - ELSEWHERE_AGO_MS : 0) : Date.now();
  stopElsewhere = pollOtherNodes({ conversation, performatives, since_us: sinceMs * 1000 }, !isLog);
}

// After a broken connection, mark the gap. The log continues without one.
let wasLive = false;
live.phase.subscribe(({ is }) => {
  if (is !== "live") return;
  if (wasLive && listensTo.startsWith("live ")) recording.hear([{ event: "missed", at_us: Date.now() * 1000, node: "" }]);
  wasLive = true;
});

function pause(events: readonly Event[]): void {
  still.value = { events, endNumber: recording.shown.end };
}

function resume(): void {
  still.value = null;
  goal.value = null;
}

function useRoute(): void {
  const { query } = route.value;
  const wanted = `${query.get("agents") ?? ""}\n${query.get("conversation") ?? ""}`;
  useEffect(() => {
    const [agents = "", conversation = ""] = wanted.split("\n");
    if (wanted === "\n") return;
    // Show a conversation from its first message, if there is a log.
    if (conversation !== "" && live.offers("log") && hasLog.value) source.value = "log";
    recording.want({ ...ALL_EVENTS, agents, conversation });
    resume();
  }, [wanted]);
}

export function ConversationsView() {
  useRoute();
  wasOpen = true;
  const filter = recording.filter.value;
  useLayoutEffect(() => listen(recording.filter.peek()), [source.value, live.welcome.value]);
  useEffect(() => {
    const timer = setTimeout(() => listen(filter), TYPING_MS);
    return () => clearTimeout(timer);
  }, [filter]);
  // A new filter applies to paused messages, too.
  useEffect(() => {
    if (still.peek()) pause(recording.shown.slice());
  }, [filter]);
  const version = recording.pulse.version.value;
  const stopped = still.value;
  const events = useMemo(() => stopped?.events ?? recording.shown.slice(recording.shown.end - LIVE_ROWS_MAX), [stopped, stopped ? 0 : version]);
  const whole = () => stopped?.events ?? recording.shown.slice();
  const toggle = () => (stopped ? resume() : pause(recording.shown.slice()));
  const step = (by: number) => {
    if (!still.value) pause(recording.shown.slice());
    const all = still.value?.events ?? [];
    const at = chosen.value ? all.indexOf(chosen.value) : -1;
    let next = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
    while (all[next] && all[next]?.event === "tick") next += by;
    const event = all[next];
    if (event) [chosen.value, goal.value] = [event, { index: next }];
  };
  useKeys({
    " ": toggle,
    Escape: () => (chosen.value ? (chosen.value = null) : stopped ? resume() : undefined),
    ...(shape.value === "diagram" && { j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1) }),
  });
  const message = chosen.value && isMessage(chosen.value) ? chosen.value : null;
  return (
    <div class={`split ${message ? "has-pane" : ""}`}>
      <section class={`panel is-fill talk ${showsMore.value ? "shows-more" : ""}`}>
        <Tools isStill={stopped !== null} toggle={toggle} whole={whole} />
        <Filters />
        <Timeline
          still={stopped?.events ?? null}
          onScrub={(atUs) => {
            if (!still.value) pause(recording.shown.slice());
            goal.value = { index: indexAt(still.value?.events ?? [], atUs) };
          }}
        />
        {shape.value === "diagram" ? (
          <Diagram events={events} lanes={lanes} filter={filter} chosen={chosen.value} goal={goal.value} isStill={stopped !== null} onChoose={choose} onStop={() => pause(recording.shown.slice())} />
        ) : (
          <LinesList events={events} isStill={stopped !== null} onStop={() => pause(recording.shown.slice())} />
        )}
        <SilentNodes of={[...unheard.value.values()]} />
      </section>
      {message ? <MessagePane message={message} events={events} onClose={() => (chosen.value = null)} onChoose={choose} /> : null}
    </div>
  );
}

function choose(event: Event): void {
  if (!still.value) pause(recording.shown.slice());
  chosen.value = event;
}

function Tools({ isStill, toggle, whole }: { readonly isStill: boolean; readonly toggle: () => void; readonly whole: () => readonly Event[] }) {
  const missed = still.value ? recording.shown.end - still.value.endNumber : 0;
  recording.pulse.version.value;
  const save = (name: string, type: string, text: string) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const picture = () => {
    const events = whole().slice(-500);
    const drawn = new Lanes();
    drawn.update(recording.filter.value.agents, events, 10);
    return toSvg(events, drawn.names);
  };
  return (
    <div class="tools">
      <button type="button" class={`button ${isStill ? "is-main" : ""}`} title="Space" onClick={toggle}>
        <Icon of={isStill ? "play" : "pause"} /> {isStill ? `Live${missed > 0 ? ` (${count(missed)} more)` : ""}` : "Pause"}
      </button>
      <div class="choice" role="group" aria-label="Shape">
        {(["diagram", "lines"] as const).map((one) => (
          <button type="button" class="button" aria-pressed={shape.value === one} onClick={() => (shape.value = one)}>
            {one === "diagram" ? "Diagram" : "Lines"}
          </button>
        ))}
      </div>
      <button type="button" class="button only-phone" aria-expanded={showsMore.value} aria-pressed={!isAny(recording.filter.value)} onClick={() => (showsMore.value = !showsMore.value)}>
        <Icon of="filter" /> Filters
      </button>
      <NodeSelect at={recording.filter.value.node} onPick={(node) => recording.want({ ...recording.filter.value, node })} />
      {live.offers("log") && hasLog.value ? (
        <div class="choice" role="group" aria-label="Source">
          {(["live", "log"] as const).map((one) => (
            <button type="button" class="button" aria-pressed={source.value === one} title={one === "log" ? "From the first message in the node's log, with the last ten minutes of other nodes" : "New messages only"} onClick={() => ((source.value = one), resume())}>
              {one === "live" ? "From now" : "From the log"}
            </button>
          ))}
        </div>
      ) : null}
      <span class="tools-note is-wide">
        {count(recording.shown.size)} recorded{recording.skipped > 0 ? `, ${count(recording.skipped)} skipped` : ""}
      </span>
      <Menu
        label={
          <>
            <Icon of="export" /> Export
          </>
        }
        title="Download the shown messages"
        disabled={recording.shown.size === 0}
        choices={[
          { label: "SVG, the newest 500", run: () => save("conversation.svg", "image/svg+xml", picture()) },
          { label: "Mermaid, the newest 500", run: () => save("conversation.mmd", "text/plain", toMermaid(whole().slice(-500))) },
          { label: "JSON, all messages", run: () => save("conversation.json", "application/json", toJson(whole())) },
        ]}
      />
      <button type="button" class="button" title="Delete the recorded messages" onClick={() => (recording.clear(), resume(), (chosen.value = null))}>
        Clear
      </button>
    </div>
  );
}

function LinesList({ events, isStill, onStop }: { readonly events: readonly Event[]; readonly isStill: boolean; readonly onStop: () => void }) {
  const keyOf = useRef(new WeakMap<Event, number>());
  const last = useRef(0);
  const number = (event: Event) => {
    const known = keyOf.current.get(event);
    if (known !== undefined) return known;
    keyOf.current.set(event, ++last.current);
    return last.current;
  };
  const isEmpty = useSignal(false);
  isEmpty.value = events.length === 0;
  return (
    <VirtualList
      items={events}
      rowHeight={isPhone.matches ? 44 : 28}
      label="Messages"
      keyOf={number}
      selected={chosen.value ? number(chosen.value) : null}
      onSelect={choose}
      follows={!isStill}
      onScrollUp={onStop}
      rowClass="line-row"
      empty={<NoMessages />}
      row={(event) =>
        isMessage(event) ? (
          <>
            <time>{clock(event.at_us)}</time>
            <span class="parties">
              <Name of={event.from} />
              <span class="is-quiet">{event.event === "died" ? "✗" : "→"}</span>
              <Name of={event.to} />
            </span>
            <Performative of={event.performative} />
            <span class="mono cut">{visible(event.content, 300)}</span>
          </>
        ) : (
          <>
            <time>{clock(event.at_us)}</time>
            <span class="aside cut">{visible(eventText(event), 300)}</span>
          </>
        )
      }
    />
  );
}

export function NoMessages() {
  const isFiltered = Object.values(recording.filter.value).some((part) => part.length > 0);
  // If some nodes are not heard, silence here does not mean that nothing was sent.
  const from = unheard.value.size > 0 ? " from the nodes that answer" : "";
  return isFiltered ? <Empty title={`No message${from} matches the filter`}>New matching messages appear here.</Empty> : (
    <Empty title={`No messages${from} yet`}>
      Messages appear here as they are sent. <a href="#/compose">Write one</a>, or let an agent: <code>.send(bob, tell, hello)</code>. {hasLog.value && live.offers("log") ? "" : "To see earlier ones, start the node with --log."}
    </Empty>
  );
}

export function showConversation(conversation: string): void {
  go("conversations", "", { conversation });
}

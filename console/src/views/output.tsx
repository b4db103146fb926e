/** Output view: lines that agents print, with warnings and failures in red. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { clock, count, visible, visibleLines } from "../model/format.js";
import { ALL_OUTPUT, isFault, withPlaces, type OutputFilter, type OutputLine, type SourcePlace } from "../model/output.js";
import { quote } from "../model/pattern.js";
import { useKeys } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { NodeSelect } from "../parts/node-select.js";
import { Facts, Pane } from "../parts/pane.js";
import { Empty, Name } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { go, live, output, route, society } from "../session.js";

const filter = signal<OutputFilter>(ALL_OUTPUT);
/** Lines at the moment of the pause. */
const still = signal<readonly OutputLine[] | null>(null);
const chosen = signal<OutputLine | null>(null);

const isPhone = matchMedia("(max-width: 720px)");

/** Key of a line. */
const keyOf = (line: OutputLine) => `${line.node} ${line.number}`;

export function OutputView() {
  const { query, of } = route.value;
  const wanted = `${of}\n${query.get("faults") ?? ""}`;
  useEffect(() => {
    const [agent = "", faults = ""] = wanted.split("\n");
    filter.value = { ...ALL_OUTPUT, agent, onlyFaults: faults !== "" };
    [still.value, chosen.value] = [null, null];
  }, [wanted]);
  const version = output.pulse.version.value;
  const list = useMemo(() => still.value?.filter((line) => filter.value.node === "" || line.node === filter.value.node) ?? output.list(filter.value), [version, still.value, filter.value]);
  const pause = () => (still.value = output.list(filter.value));
  useKeys({
    " ": () => (still.value ? (still.value = null) : pause()),
    Escape: () => (chosen.value ? (chosen.value = null) : still.value ? (still.value = null) : (filter.value = ALL_OUTPUT)),
  });
  const choose = (line: OutputLine) => {
    if (!still.value) pause();
    chosen.value = line;
  };
  const several = society.cards.value.length > 1;
  return (
    <div class={`split ${chosen.value ? "has-pane" : ""}`}>
      <section class="panel is-fill">
        <Tools shown={list.length} pause={pause} />
        <VirtualList
          items={list}
          rowHeight={isPhone.matches ? 44 : 24}
          label="Output"
          keyOf={keyOf}
          selected={chosen.value ? keyOf(chosen.value) : null}
          onSelect={choose}
          follows={still.value === null}
          onScrollUp={pause}
          rowClass={`output-row ${several ? "has-node" : ""}`}
          empty={<NoOutput />}
          row={(line) => (
            <>
              <time>{clock(line.at_us)}</time>
              <Name of={line.agent} />
              {several ? <span class="is-quiet is-wide cut">{visible(line.node, 24)}</span> : null}
              <span class={`mono cut ${isFault(line) ? "is-fault" : line.kind === "notice" ? "is-quiet" : ""}`}>
                {isFault(line) ? <b class="output-mark">{line.kind === "failure" ? "failed" : "warning"}</b> : null}
                {visible(line.text, 400)}
              </span>
            </>
          )}
        />
      </section>
      {chosen.value ? <LinePane line={chosen.value} /> : null}
    </div>
  );
}

function Tools({ shown, pause }: { readonly shown: number; readonly pause: () => void }) {
  const { value } = filter;
  output.pulse.version.value;
  const set = (part: Partial<OutputFilter>) => {
    filter.value = { ...value, ...part };
    if (still.value) still.value = output.list(filter.value);
  };
  return (
    <div class="tools">
      <button type="button" class={`button ${still.value ? "is-main" : ""}`} title="Space" onClick={() => (still.value ? (still.value = null) : pause())}>
        <Icon of={still.value ? "play" : "pause"} /> {still.value ? "Live" : "Pause"}
      </button>
      <div class="choice" role="group" aria-label="Kind">
        {([[false, "All"], [true, "Failures"]] as const).map(([faults, label]) => (
          <button type="button" class="button" aria-pressed={value.onlyFaults === faults} onClick={() => set({ onlyFaults: faults })}>
            {label}
            {faults && output.faults.length > 0 ? <b class="is-fault"> {count(output.faults.length)}</b> : null}
          </button>
        ))}
      </div>
      <label class="search">
        <Icon of="search" />
        <input data-search aria-label="Search the text" placeholder="Text" value={value.text} onInput={(event) => set({ text: event.currentTarget.value })} />
        <kbd>/</kbd>
      </label>
      <input class="field" aria-label="Agent" placeholder="Agent: bob, seller*" value={value.agent} onInput={(event) => set({ agent: event.currentTarget.value })} />
      <NodeSelect at={value.node} onPick={(node) => set({ node })} />
      <span class="tools-note is-wide">
        {count(shown)} lines{output.leftOut.value > 0 ? `, ${count(output.leftOut.value)} skipped` : ""}
      </span>
      <button type="button" class="button" title="Delete the recorded lines" onClick={() => (output.clear(), (still.value = null), (chosen.value = null))}>
        Clear
      </button>
    </div>
  );
}

function NoOutput() {
  if (filter.value !== ALL_OUTPUT && output.lines.length > 0) return <Empty title="No line matches the filter">Press Esc to clear the filters.</Empty>;
  return (
    <Empty title="Nothing printed yet">
      Lines of <code>.print("hello")</code> appear here, in Rust <code>ctx.print("hello")</code>. Goals without a plan and failed steps appear in red, with plan and line.
    </Empty>
  );
}

/** A text in which places of programs are links to the source. */
export function LinkedText({ of, agent }: { readonly of: string; readonly agent: string }) {
  const place = ({ file, line }: SourcePlace) =>
    live.offers("programs") ? (
      <a class="place" href={`#/mind/${encodeURIComponent(agent)}?${new URLSearchParams({ tab: "source", file, line: String(line) }).toString()}`}>
        {visible(file, 120)}:{line}
      </a>
    ) : (
      `${visible(file, 120)}:${line}`
    );
  return <>{withPlaces(of).map((part) => (typeof part === "string" ? visibleLines(part) : place(part)))}</>;
}

function LinePane({ line }: { readonly line: OutputLine }) {
  return (
    <Pane title={<Name of={line.agent} />} label="Line" onClose={() => (chosen.value = null)}>
      <pre class={`content ${isFault(line) ? "is-fault" : ""}`} dir="ltr">
        <LinkedText of={line.text} agent={line.agent} />
      </pre>
      <Facts of={[["Kind", line.kind], ["Time", `${clock(line.at_us)} UTC`], ["Node", visible(line.node, 60)], ["Number", count(line.number)]]} />
      <div class="links">
        {live.offers("mind") ? (
          <button type="button" class="button" onClick={() => go("mind", line.agent)}>
            <Icon of="mind" /> Mind
          </button>
        ) : null}
        <button type="button" class="button" onClick={() => go("society", line.agent)}>
          <Icon of="society" /> Agent
        </button>
        <button type="button" class="button" onClick={() => go("conversations", "", { agents: quote(line.agent) })}>
          <Icon of="conversations" /> Conversations
        </button>
        <button type="button" class="button" onClick={() => (filter.value = { ...ALL_OUTPUT, agent: line.agent })}>
          Only this agent
        </button>
      </div>
    </Pane>
  );
}

/** Lines of an agent in its pane. */
const IN_PANE_MAX = 40;

/** The newest lines of one agent. */
export function AgentOutput({ of }: { readonly of: string }) {
  const version = output.pulse.version.value;
  const lines = useMemo(() => output.lines.filter(({ agent }) => agent === of).slice(-IN_PANE_MAX), [version, of]);
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  // The list follows new lines until the user scrolls up.
  useEffect(() => {
    if (list.current && isAtEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [lines]);
  if (!live.offers("output")) return null;
  return (
    <section class="agent-output">
      <h3>
        Output <a href={`#/output/${encodeURIComponent(of)}`}>all</a>
      </h3>
      {lines.length === 0 ? (
        <p class="is-quiet">It has printed nothing.</p>
      ) : (
        <ol
          ref={list}
          aria-label={`Output of ${visible(of, 60)}`}
          onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => (isAtEnd.current = scrollTop + clientHeight > scrollHeight - 30)}
        >
          {lines.map((line) => (
            <li key={keyOf(line)} class={isFault(line) ? "is-fault" : ""} title={clock(line.at_us)}>
              <LinkedText of={line.text} agent={of} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

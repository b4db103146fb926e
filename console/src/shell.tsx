/** The frame around the views: navigation, figures, and the state of the connection. */
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { EndInfo } from "./live/vocabulary.js";
import { clock, count, duration, short, visible } from "./model/format.js";
import { writeRoute, type View } from "./model/route.js";
import { endText } from "./model/verdict.js";
import { Dialogs } from "./parts/dialog.js";
import { useKeys } from "./parts/hooks.js";
import { Logo, Icon } from "./parts/icons.js";
import { beat, dismiss, go, health, judge, live, route, society, totals, toasts, useToken, verdict } from "./session.js";
import { toggleTheme } from "./theme.js";
import { ComposeView } from "./views/compose.js";
import { ConversationsView } from "./views/conversations.js";
import { DirectoryView } from "./views/directory.js";
import { HealthView } from "./views/health.js";
import { MindView } from "./views/mind.js";
import { MobilityView, SecurityView } from "./views/notices.js";
import { OutputView } from "./views/output.js";
import { SocietyView } from "./views/society.js";

interface Entry {
  readonly view: View;
  readonly label: string;
  /** Label for narrow screens. */
  readonly short?: string;
  readonly key: string;
  readonly shows: ComponentType;
  /** Feature that the node must offer for this view. */
  readonly needs?: string;
}
const ENTRIES: readonly Entry[] = [
  { view: "society", label: "Society", key: "s", shows: SocietyView },
  { view: "conversations", label: "Conversations", short: "Convers.", key: "c", shows: ConversationsView },
  { view: "output", label: "Output", key: "p", shows: OutputView, needs: "output" },
  { view: "mind", label: "Mind", key: "m", shows: MindView, needs: "mind" },
  { view: "directory", label: "Directory", key: "d", shows: DirectoryView },
  { view: "compose", label: "Compose", key: "w", shows: ComposeView },
  { view: "health", label: "Health", key: "h", shows: HealthView },
  { view: "mobility", label: "Mobility", key: "o", shows: MobilityView, needs: "mobility" },
  { view: "security", label: "Security", key: "e", shows: SecurityView, needs: "security" },
];

function offered(): readonly Entry[] {
  return ENTRIES.filter(({ needs }) => needs === undefined || live.offers(needs));
}

export function Shell() {
  const helps = useSignal(false);
  const { view } = route.value;
  const entries = offered();
  const entry = entries.find((entry) => entry.view === view);
  useKeys({
    ...Object.fromEntries(ENTRIES.map(({ view, key }) => [`g ${key}`, () => go(view)])),
    "?": () => (helps.value = !helps.value),
    "/": () => document.querySelector<HTMLInputElement>("[data-search]")?.focus(),
    t: toggleTheme,
  });
  useEffect(() => {
    document.title = `${entry?.label ?? "Console"} · ${society.node.value?.society ?? "Whimbrel"}`;
  }, [entry, society.node.value?.society]);
  const { phase } = live;
  if (phase.value.is === "refused") return <Refused />;
  const Shown = entry?.shows;
  return (
    <div class="shell">
      <Rail entries={entries} view={view} onHelp={() => (helps.value = true)} />
      <Bar title={entry?.label ?? ""} onHelp={() => (helps.value = true)} />
      <Connection />
      <main class="main" key={view}>
        {Shown ? <Shown /> : live.welcome.value ? <div class="empty"><strong>This node does not offer that view</strong></div> : null}
      </main>
      {helps.value ? <Help entries={entries} onClose={() => (helps.value = false)} /> : null}
      <Dialogs />
      <Toasts />
    </div>
  );
}

function Rail({ entries, view, onHelp }: { readonly entries: readonly Entry[]; readonly view: View; readonly onHelp: () => void }) {
  return (
    <nav class="rail" aria-label="Views">
      <a class="sign" href="#/society" title="Whimbrel">
        <Logo />
        <span>whimbrel</span>
      </a>
      <ul>
        {entries.map((entry) => (
          <li key={entry.view}>
            <a href={writeRoute(entry.view)} aria-label={entry.label} aria-current={entry.view === view ? "page" : undefined} title={`${entry.label} (g ${entry.key})`}>
              <Icon of={entry.view} />
              <span>{entry.label}</span>
              <span class="rail-short" aria-hidden="true">
                {entry.short ?? entry.label}
              </span>
              <kbd>g {entry.key}</kbd>
            </a>
          </li>
        ))}
      </ul>
      <div class="rail-end">
        <button type="button" class="button is-bare" title="Light or dark (t)" aria-label="Light or dark" onClick={toggleTheme}>
          <Icon of="sun" />
        </button>
        <button type="button" class="button is-bare" title="Keys (?)" aria-label="Keys" onClick={onHelp}>
          <Icon of="help" />
        </button>
      </div>
    </nav>
  );
}

/** Interval of queries for the figures of all nodes, in milliseconds. */
const TOTALS_MS = 1_000;

/** Queries the figures of all nodes. */
function useTotals(): void {
  useEffect(() => {
    const stop = live.watch({ what: "answer", request: { request: "totals" }, every_ms: TOTALS_MS }, (frame) => {
      if (frame.type !== "answer" || frame.answer.answer !== "totals") return;
      totals.hear(frame.answer, performance.now());
      health.hear(totals.nodes.value, society.node.value?.node ?? "", Date.now() / 1000);
      beat();
    });
    const timer = setInterval(() => {
      totals.look(performance.now());
      judge();
    }, TOTALS_MS);
    const forget = live.phase.subscribe(judge);
    return () => {
      clearInterval(timer);
      forget();
      stop();
    };
  }, []);
}

function Bar({ title, onHelp }: { readonly title: string; readonly onHelp: () => void }) {
  useTotals();
  const node = society.node.value;
  const rate = totals.messagesPerS.value;
  const { agents: living, queued, dead, printed = 0, faults = 0 } = totals.sum.value ?? node ?? { agents: 0, queued: 0, dead: 0 };
  const many = node?.ended?.agents ?? living;
  return (
    <header class="bar">
      <h1>{title}</h1>
      {node ? (
        <>
          <span class="where">
            <b>{visible(node.society || node.platform, 40)}</b> on {visible(node.node, 40)}
          </span>
          <Mood />
          <ul class="figures" aria-label="Figures">
            <li title="Agents on all nodes">
              <b>{count(many)}</b> agents
            </li>
            <li title="Messages a second on all nodes">
              <b>{rate === null ? "–" : short(rate)}</b> msg/s
            </li>
            <li title="Messages in mailboxes">
              <b>{short(queued)}</b> waiting
            </li>
            <li title="Undeliverable messages" class={dead > 0 ? "is-fault" : ""}>
              <a href="#/health">
                <b>{short(dead)}</b> dead
              </a>
            </li>
            {live.offers("output") ? (
              <>
                <li class="is-wide" title="Lines that agents printed">
                  <a href="#/output">
                    <b>{short(printed)}</b> printed
                  </a>
                </li>
                <li title="Warnings and failures of agents" class={faults > 0 ? "is-fault" : ""}>
                  <a href="#/output?faults=1">
                    <b>{short(faults)}</b> failed
                  </a>
                </li>
              </>
            ) : null}
            <li class="is-wide" title="Since the node started">
              up <b>{duration(node.up_us / 1000)}</b>
            </li>
          </ul>
        </>
      ) : null}
      <span class="bar-end only-phone">
        <button type="button" class="button is-bare" title="Light or dark" aria-label="Light or dark" onClick={toggleTheme}>
          <Icon of="sun" />
        </button>
        <button type="button" class="button is-bare" title="Help" aria-label="Help" onClick={onHelp}>
          <Icon of="help" />
        </button>
      </span>
    </header>
  );
}

/** State of the society in a word, with the reasons. */
function Mood() {
  const { level, word, reasons } = verdict.value;
  return (
    <a class={`mood is-${level}`} href="#/health" title={reasons.map(({ text }) => visible(text, 300)).join("\n") || "All is well"}>
      <i aria-hidden="true" />
      {word}
    </a>
  );
}

/** Banner about a missing connection or a quiet node, with the time of the next attempt. */
function Connection() {
  const now = useSignal(0);
  const phase = live.phase.value;
  useEffect(() => {
    if (phase.is !== "broken" && phase.is !== "ended") return undefined;
    now.value = live.now;
    const timer = setInterval(() => (now.value = live.now), 250);
    return () => clearInterval(timer);
  }, [phase]);
  if (phase.is === "ended") return <Stopped leftS={Math.max(0, Math.ceil((phase.againAt - now.value) / 1000))} />;
  if (phase.is === "live") return live.quietS.value > 0 ? <Quiet /> : society.node.value?.ended ? <Ended of={society.node.value.ended} /> : null;
  if (phase.is === "connecting" && !live.welcome.value) return <div class="connection" role="status">Connecting…</div>;
  const left = phase.is === "broken" ? Math.max(0, Math.ceil((phase.againAt - now.value) / 1000)) : 0;
  return (
    <div class="connection is-broken" role="status">
      <span>Connection to the node lost: the page shows the last known state{phase.is === "broken" ? `; next attempt in ${left} s.` : "; connecting…"}</span>
      <button type="button" class="button" onClick={() => live.connect()}>
        Try now
      </button>
    </div>
  );
}

/** Banner about a society that has ended, on a node that stays. */
function Ended({ of }: { readonly of: EndInfo }) {
  return (
    <div class={`connection is-ended ${of.code === 0 ? "" : "is-broken"}`} role="status">
      <span>
        {endText(of)} <time class="is-quiet">{clock(of.at_us).slice(0, 8)} UTC</time>
      </span>
      <span class="is-quiet">Agents, output and messages stay as they were.</span>
    </div>
  );
}

/** Banner about a node that has stopped, with the last known state. */
function Stopped({ leftS }: { readonly leftS: number }) {
  const { agents: many, queued } = totals.sum.value ?? society.node.value ?? { agents: 0, queued: 0 };
  return (
    <div class="connection is-ended" role="status">
      <span>
        The node has stopped. The page shows the last known state: {count(many)} agents, {count(queued)} messages waiting. To look after the end, start the society with <code>--keep</code> or <code>--open</code>.
      </span>
      <button type="button" class="button" title={`Next attempt in ${leftS} s`} onClick={() => live.connect()}>
        Try again
      </button>
    </div>
  );
}

/** Banner about a quiet node. The node may be busy, or the network down for a moment. */
function Quiet() {
  return (
    <div class="connection" role="status">
      <span>
        No data from the node for <span aria-live="off">{live.quietS.value} s</span>
      </span>
    </div>
  );
}

function Refused() {
  const token = useSignal("");
  const phase = live.phase.value;
  return (
    <main class="refused">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          useToken(token.value.trim());
        }}
      >
        <Logo />
        <h1>whimbrel</h1>
        <p>{phase.is === "refused" ? visible(phase.text, 300) : ""}</p>
        <label>
          Token
          <input class="field" type="password" autocomplete="off" value={token.value} onInput={(event) => (token.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="button is-main" disabled={token.value.trim() === ""}>
          Connect
        </button>
        <small>The node prints an address with its token when it starts. Open that address, or paste the text after “token=”.</small>
      </form>
    </main>
  );
}

/** Instructions for another machine, in words that paste. */
function Elsewhere() {
  return (
    <section class="elsewhere">
      <h2>On a phone or another machine</h2>
      <p>A node listens on this machine only, unless it is told an address:</p>
      <pre>whimbrel run PROJECT --http 0.0.0.0:8420</pre>
      <p>It then encrypts, and prints the console's address with its token. Open that address with the name of this machine in place of 0.0.0.0. A viewer's token (--http-viewer-token) lets people look without acting.</p>
    </section>
  );
}

function Help({ entries, onClose }: { readonly entries: readonly Entry[]; readonly onClose: () => void }) {
  useKeys({ Escape: onClose });
  const rows: readonly (readonly [string, string])[] = [
    ...entries.map(({ key, label }) => [`g ${key}`, label] as const),
    ["/", "Search or filter"],
    ["j k", "Next, previous"],
    ["Enter", "Open the selection"],
    ["Esc", "Close, step back"],
    ["Space", "Pause or continue (Conversations, Output, Mind)"],
    ["n", "New agents (Society), one reasoning cycle (Mind, paused)"],
    ["m", "Map, list or both (Society)"],
    ["v", "Move the chosen agent (Society)"],
    ["[ ]", "Earlier, later report (Mind)"],
    ["t", "Light or dark"],
    ["?", "These keys"],
  ];
  return (
    <div class="veil" onClick={onClose}>
      <section class="help" role="dialog" aria-label="Keys" onClick={(event) => event.stopPropagation()}>
        <h2>Keys</h2>
        <dl>
          {rows.map(([key, does]) => (
            <div key={key}>
              <dt>
                {key.split(" ").map((one) => (
                  <kbd>{one}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <Elsewhere />
      </section>
    </div>
  );
}

function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <button type="button" key={toast.id} class={`toast ${toast.isFault ? "is-fault" : ""}`} title="Dismiss" onClick={() => dismiss(toast.id)}>
          {visible(toast.text, 400)}
        </button>
      ))}
    </div>
  );
}

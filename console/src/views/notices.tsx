/** Mobility and Security views: moves of agents, and refusals by the policy. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Event } from "../live/vocabulary.js";
import { placeOf } from "../model/agents.js";
import { useOtherNodes, SilentNodes } from "../parts/all-nodes.js";
import { useKeys, useWatch } from "../parts/hooks.js";
import { Search } from "../parts/search.js";
import { Tabs } from "../parts/tabs.js";
import { Empty } from "../parts/text.js";
import { agents, live } from "../session.js";
import { AuditLog } from "./audit.js";
import { NoticeList } from "./notice-list.js";
import { Certificates, Reasons } from "./security.js";
import { Codes, Quotas } from "./upkeep.js";

const NOTICES_MAX = 2_000;

const moves = signal<readonly Event[]>([]);
const refusals = signal<readonly Event[]>([]);
/** Time since which the asked node reports moves; it does so only while the view is shown. */
let toldSinceMs = Infinity;
/** Maximum delay of reported agent places. */
const LATE_MS = 3_000;
/** Infers moves from changed places where the asked node does not report them. */
agents.onMove = (before, now) => {
  const here = live.welcome.value?.node.node;
  const hasPart = before.device === undefined && now.device === undefined && (before.node === here || now.node === here);
  const sinceMs = Date.now() - toldSinceMs;
  const isTold = () => moves.value.some((event) => "agent" in event && event.agent === now.name && event.at_us > toldSinceMs * 1000);
  if (hasPart && (sinceMs > LATE_MS || (sinceMs >= 0 && isTold()))) return;
  const seen: Event = { at_us: Date.now() * 1000, node: now.node, event: "agent", agent: now.name, text: `${now.name} moved from ${placeOf(before)} to ${placeOf(now)}` };
  moves.value = [...moves.value, seen].slice(-NOTICES_MAX);
};
/** Interval of queries for other nodes' refusals. */
const AGAIN_MS = 2_000;

interface Props {
  readonly what: "mobility" | "security";
  readonly kept: typeof moves;
  readonly none: { readonly title: string; readonly why: string };
  /** Controls above the list, such as tabs. */
  readonly tools: ComponentChildren;
}

function Notices({ what, kept, none, tools }: Props) {
  const refusal = useSignal("");
  useWatch(
    what,
    { what },
    (frame) => {
      if (frame.type !== "events") return;
      // A new watch repeats recent refusals.
      const known = new Set(what === "security" ? kept.value.map((event) => JSON.stringify(event)) : []);
      const news = frame.events.filter((event) => event.event !== "tick" && !known.has(JSON.stringify(event)));
      if (news.length > 0) kept.value = [...kept.value, ...news].slice(-NOTICES_MAX);
    },
    ({ text }) => (refusal.value = text),
  );
  useEffect(() => {
    if (what !== "mobility") return undefined;
    toldSinceMs = Date.now();
    return () => (toldSinceMs = Infinity);
  }, [what]);
  const elsewhere = useOtherNodes({ request: "refusals", limit: NOTICES_MAX / 4 }, AGAIN_MS, what === "security" && live.offers("certificates"));
  const theirs = elsewhere.told.flatMap(([, answer]) => (answer.answer === "refusals" ? answer.refusals : []));
  const newestFirst = [...kept.value, ...theirs].sort((a, b) => b.at_us - a.at_us);
  return (
    <NoticeList
      items={newestFirst}
      label={what}
      empty={<Empty title={refusal.value ? "Not available" : none.title}>{refusal.value || none.why}</Empty>}
      above={
        <>
          {tools}
          <SilentNodes of={elsewhere.silent} />
        </>
      }
    />
  );
}

type MobilityTab = "hops" | "code" | "quotas";
const mobilityTab = signal<MobilityTab>("hops");
const wanted = signal("");

export function MobilityView() {
  useKeys({ Escape: () => (wanted.value = "") });
  const tab = mobilityTab.value;
  const tools = (
    <div class="tools">
      {live.offers("upkeep") ? (
        <Tabs
          of={[
            ["hops", "Hops"],
            ["code", "Code"],
            ["quotas", "Quotas"],
          ]}
          at={tab}
          onPick={(one) => (mobilityTab.value = one)}
        />
      ) : null}
      {tab === "hops" ? null : <Search of={wanted} placeholder={tab === "code" ? "File, hash or node" : "Agent, owner or node"} />}
    </div>
  );
  if (tab === "hops") return <Notices what="mobility" kept={moves} tools={tools} none={{ title: "No moves yet", why: "Moves of agents between nodes appear here while this page is open." }} />;
  return (
    <div class="split">
      <section class="panel is-fill">
        {tools}
        {tab === "code" ? <Codes wanted={wanted.value.trim()} /> : <Quotas wanted={wanted.value.trim()} />}
      </section>
    </div>
  );
}

type SecurityTab = "refusals" | "audit" | "reasons" | "certificates";
const securityTab = signal<SecurityTab>("refusals");

export function SecurityView() {
  useKeys({ Escape: () => (wanted.value = "") });
  const tab = securityTab.value;
  const tools = live.offers("certificates") ? (
    <div class="tools">
      <Tabs
        of={[
          ["refusals", "Refusals"],
          ...(live.offers("audit") ? ([["audit", "Audit log"]] as const) : []),
          ["reasons", "By reason"],
          ["certificates", "Certificates"],
        ]}
        at={tab}
        onPick={(one) => (securityTab.value = one)}
      />
      {tab === "certificates" ? <Search of={wanted} placeholder="Name, issuer, number or node" /> : null}
    </div>
  ) : null;
  if (tab === "refusals") return <Notices what="security" kept={refusals} tools={tools} none={{ title: "No refusals yet", why: "Refusals by the policy and the links appear here, recent ones included." }} />;
  if (tab === "audit") return <AuditLog tools={tools} />;
  return (
    <div class="split">
      <section class="panel is-fill">
        {tools}
        {tab === "reasons" ? <Reasons /> : <Certificates wanted={wanted.value.trim()} />}
      </section>
    </div>
  );
}

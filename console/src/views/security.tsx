/** Certificates, trust and refusals of nodes. */
import { useSignal } from "@preact/signals";
import type { CertificateInfo } from "../live/vocabulary.js";
import { byUrgency, validity, validityText } from "../model/certificate.js";
import { count, date, visible } from "../model/format.js";
import { searchFits } from "../model/pattern.js";
import { useAllNodes, SilentNodes } from "../parts/all-nodes.js";
import { useKeys } from "../parts/hooks.js";
import { Facts, Pane } from "../parts/pane.js";
import { Empty, Name } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";

const EVERY_MS = 2_000;

const WHOSE: Readonly<Record<string, string>> = {
  node: "the node",
  authority: "the authority",
  certifier: "the agents' certifier",
  session: "an agent of a client",
  agent: "an agent",
};

interface Shown {
  readonly node: string;
  readonly certificate: CertificateInfo;
}

export function Certificates({ wanted }: { readonly wanted: string }) {
  const { told, silent } = useAllNodes({ request: "security" }, EVERY_MS);
  const chosen = useSignal<Shown | null>(null);
  useKeys({ Escape: () => (chosen.value = null) });
  const now = Date.now();
  const answers = told.flatMap(([node, answer]) => (answer.answer === "security" ? [[node, answer] as const] : []));
  const all: Shown[] = answers.flatMap(([node, { certificates }]) => certificates.map((certificate) => ({ node, certificate })));
  const order = byUrgency(now);
  const list = all.filter(({ node, certificate }) => [certificate.subject, certificate.issuer, certificate.serial, node].some((text) => searchFits(wanted, text))).sort((a, b) => order(a.certificate, b.certificate));
  const keyOf = ({ node, certificate }: Shown) => `${node} ${certificate.of} ${certificate.serial}`;
  const levels = answers.map(([node, { level, revoked }]) => `${node}: ${level ?? "no links"}${revoked.length > 0 ? `, ${count(revoked.length)} revoked` : ""}`);
  return (
    <div class="beside">
      <div class="beside-list">
        <SilentNodes of={silent} />
        {levels.length > 0 ? <p class="remark">{visible(levels.join(" · "), 300)}</p> : null}
        <div class="table-head certificate-row">
          <span>Names</span>
          <span>Holder</span>
          <span>Validity</span>
          <span class="is-wide">Issued by</span>
          <span class="is-wide">Node</span>
        </div>
        <VirtualList
          items={list}
          rowHeight={30}
          label="Certificates"
          keyOf={keyOf}
          selected={chosen.value ? keyOf(chosen.value) : null}
          onSelect={(one) => (chosen.value = one)}
          rowClass="certificate-row"
          empty={told.length === 0 ? <Empty title="Loading…" /> : all.length > 0 ? <Empty title="No certificate matches the search">Press Esc to clear the search.</Empty> : <Empty title="No certificates">Links are open, or there are none. The option --security sets how links are secured.</Empty>}
          row={({ node, certificate }) => {
            const how = validity(certificate, now);
            return (
              <>
                <Name of={certificate.subject} />
                <span class="cut">{WHOSE[certificate.of] ?? visible(certificate.of, 20)}</span>
                <span class={`cut ${how === "good" ? "" : "is-fault"}`}>{validityText(certificate, now)}</span>
                <span class="is-wide cut">{visible(certificate.issuer, 120)}</span>
                <span class="is-wide is-quiet cut">{visible(node, 24)}</span>
              </>
            );
          }}
        />
      </div>
      {chosen.value ? <CertificatePane shown={chosen.value} now={now} onClose={() => (chosen.value = null)} /> : null}
    </div>
  );
}

function CertificatePane({ shown: { node, certificate }, now, onClose }: { readonly shown: Shown; readonly now: number; readonly onClose: () => void }) {
  return (
    <Pane title={WHOSE[certificate.of] ?? visible(certificate.of, 20)} label="Certificate" onClose={onClose}>
      <Facts
        of={[
          ["Names", visible(certificate.subject, 400)],
          ["Issued by", visible(certificate.issuer, 400)],
          ["Validity", validityText(certificate, now)],
          ["From", date(certificate.from_ms * 1000)],
          ["Until", date(certificate.until_ms * 1000)],
          ["Serial number", <code>{visible(certificate.serial, 100)}</code>],
          ["Node", visible(node, 60)],
        ]}
      />
    </Pane>
  );
}

export function Reasons() {
  const { told, silent } = useAllNodes({ request: "security" }, EVERY_MS);
  const answers = told.flatMap(([node, answer]) => (answer.answer === "security" ? [[node, answer] as const] : []));
  const rows = answers.flatMap(([node, { refusals }]) => refusals.map(({ reason, count }) => ({ node, reason, count }))).sort((a, b) => b.count - a.count);
  const most = Math.max(1, ...rows.map((row) => row.count));
  const files = answers.map(([node, { audit }]) => `${node}: ${audit === null ? "in memory only" : `recorded in ${audit}`}`);
  return (
    <>
      <SilentNodes of={silent} />
      {files.length > 0 ? <p class="remark">{visible(files.join(" · "), 400)}</p> : null}
      <div class="table-head reason-row">
        <span>Reason</span>
        <span class="is-number">Refused</span>
        <span class="is-wide" />
        <span>Node</span>
      </div>
      <VirtualList
        items={rows}
        rowHeight={30}
        label="Refusals by reason"
        keyOf={({ node, reason }) => `${node} ${reason}`}
        rowClass="reason-row"
        empty={told.length === 0 ? <Empty title="Loading…" /> : <Empty title="No refusals yet">Counts since the start of each node appear here.</Empty>}
        row={({ node, reason, count: many }) => (
          <>
            <span>{visible(reason, 40).replaceAll("_", " ")}</span>
            <span class="is-number">{count(many)}</span>
            <i class="gauge-bar is-wide">
              <i style={{ width: `${((many / most) * 100).toFixed(1)}%` }} />
            </i>
            <span class="is-quiet cut">{visible(node, 24)}</span>
          </>
        )}
      />
    </>
  );
}

/** Code on nodes, and the use of quotas by agents and owners. */
import type { CodeInfo, UsageInfo } from "../live/vocabulary.js";
import { searchFits } from "../model/pattern.js";
import { bytes, count, visible } from "../model/format.js";
import { gaugeOf } from "../model/quota.js";
import { useAllNodes, SilentNodes } from "../parts/all-nodes.js";
import { Empty, Name } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { go } from "../session.js";

const EVERY_MS = 2_000;
/** Maximum agents of each node. */
const QUOTAS_MAX = 500;

/** Returns the state of code on a node. */
function stateOf({ form, loaded, compiled_bytes }: CodeInfo): string {
  if (loaded) return form === "wasm" ? "compiled" : "in memory";
  return compiled_bytes === null ? "on disk" : "on disk, compiled";
}

export function Codes({ wanted }: { readonly wanted: string }) {
  const { told, silent } = useAllNodes({ request: "codes" }, EVERY_MS);
  const rows = told.flatMap(([node, answer]) => (answer.answer === "codes" ? answer.codes.map((code) => ({ node, code })) : []));
  const list = rows.filter(({ node, code }) => [code.name ?? "", code.code, node].some((text) => searchFits(wanted, text)));
  const kept = told.flatMap(([node, answer]) => (answer.answer === "codes" && answer.kept_bytes !== null ? [`${node}: ${bytes(answer.kept_bytes)} of ${bytes(answer.kept_bytes_max ?? 0)} on disk`] : []));
  return (
    <>
      <SilentNodes of={silent} />
      {kept.length > 0 ? <p class="remark">{visible(kept.join(" · "), 300)}</p> : null}
      <div class="table-head code-row">
        <span>Code</span>
        <span>State</span>
        <span class="is-number">Agents</span>
        <span class="is-number">Size</span>
        <span class="is-number is-wide">Hits</span>
        <span class="is-wide">Node</span>
        <span class="is-wide">SHA-256</span>
      </div>
      <VirtualList
        items={list}
        rowHeight={30}
        label="Code"
        keyOf={({ node, code }) => `${node} ${code.code}`}
        rowClass="code-row"
        empty={told.length === 0 ? <Empty title="Loading…" /> : rows.length > 0 ? <Empty title="No code matches the search">Press Esc to clear the search.</Empty> : <Empty title="No code yet">Programs of the project, and code that arrived with agents, appear here.</Empty>}
        row={({ node, code }) => (
          <>
            <span class="cut" title={code.own ? "part of this node's project" : "arrived with an agent, or is stored on disk"}>
              {code.name === null ? <i class="is-quiet">on disk only</i> : <Name of={code.name} />} <small class="is-quiet">{code.own ? "" : code.loaded ? "arrived" : ""}</small>
            </span>
            <span class="cut">{stateOf(code)}</span>
            <span class="is-number">{count(code.agents)}</span>
            <span class="is-number">{code.bytes === 0 ? "–" : bytes(code.bytes)}</span>
            <span class="is-number is-wide">{count(code.hits)}</span>
            <span class="is-wide is-quiet cut">{visible(node, 24)}</span>
            <code class="is-wide cut" title={code.code}>
              {code.code.slice(0, 12)}
            </code>
          </>
        )}
      />
    </>
  );
}

export function Quotas({ wanted }: { readonly wanted: string }) {
  const { told, silent } = useAllNodes({ request: "quotas", limit: QUOTAS_MAX }, EVERY_MS);
  const all = told.flatMap(([node, answer]) => (answer.answer === "quotas" ? [...answer.owners.map((usage) => ({ node, usage, isOwner: true })), ...answer.agents.map((usage) => ({ node, usage, isOwner: false }))] : []));
  const list = all.filter(({ usage, node }) => [usage.name, usage.owner ?? "", node].some((text) => searchFits(wanted, text)));
  const more = told.reduce((sum, [, answer]) => sum + (answer.answer === "quotas" ? answer.total - answer.agents.length : 0), 0);
  return (
    <>
      <SilentNodes of={silent} />
      {more > 0 ? <p class="remark">{count(more)} more agents use less of their quotas.</p> : null}
      <div class="table-head quota-row">
        <span>Agent or owner</span>
        <span>Use</span>
        <span class="is-wide">Node</span>
      </div>
      <VirtualList
        items={list}
        rowHeight={46}
        label="Quotas"
        keyOf={({ node, usage, isOwner }) => `${node} ${isOwner} ${usage.name}`}
        onOpen={({ usage, isOwner }) => (isOwner ? undefined : go("society", usage.name))}
        rowClass="quota-row"
        empty={told.length === 0 ? <Empty title="Loading…" /> : all.length > 0 ? <Empty title="No agent or owner matches the search">Press Esc to clear the search.</Empty> : <Empty title="No quotas">The use of quotas by WebAssembly agents and by owners appears here.</Empty>}
        row={({ node, usage, isOwner }) => (
          <>
            <span class="cut">
              {isOwner ? <b>all agents of {visible(usage.name, 60)}</b> : <Name of={usage.name} />}
              {usage.owner === undefined ? null : <small class="is-quiet"> of {visible(usage.owner, 60)}</small>}
            </span>
            <Gauges of={usage} />
            <span class="is-wide is-quiet cut">{visible(node, 24)}</span>
          </>
        )}
      />
    </>
  );
}

function Gauges({ of }: { readonly of: UsageInfo }) {
  return (
    <span class="gauges">
      {of.quotas.map((quota) => {
        const { name, text, share } = gaugeOf(quota);
        return (
          <span key={quota.name} class={`gauge ${share !== null && share >= 0.9 ? "is-fault" : ""}`} title={`${quota.name}: ${text}`}>
            <small>{visible(name, 30)}</small>
            <i class="gauge-bar">
              <i style={{ width: `${((share ?? 0) * 100).toFixed(0)}%` }} />
            </i>
            <small class="gauge-text">{text}</small>
          </span>
        );
      })}
    </span>
  );
}

/** Subscriptions to the DF on all nodes. */
import type { SubscriptionInfo } from "../live/vocabulary.js";
import { searchFits } from "../model/pattern.js";
import { count, visible } from "../model/format.js";
import { useAllNodes, SilentNodes } from "../parts/all-nodes.js";
import { Empty, Name } from "../parts/text.js";
import { VirtualList } from "../parts/virtual.js";
import { go } from "../session.js";

const EVERY_MS = 2_000;
/** Maximum subscriptions of each node. */
const SHOWN_MAX = 1_000;

/** Returns the search criteria as text. */
function wantedBy({ agent, services, protocols, ontologies, languages }: SubscriptionInfo): string {
  const named = (what: string, values: readonly string[]) => (values.length === 0 ? [] : [`${what} ${values.join(", ")}`]);
  const parts = services.map(({ name, kind, properties, ...of }) =>
    [...named("service", [name].filter(Boolean)), ...named("of type", [kind].filter(Boolean)), ...named("with", properties.map(([key, value]) => `${key}=${value}`)), ...named("protocol", of.protocols), ...named("ontology", of.ontologies), ...named("language", of.languages)].join(" "),
  );
  const all = [...(agent === null ? [] : [`agent ${agent}`]), ...parts, ...named("protocol", protocols), ...named("ontology", ontologies), ...named("language", languages)].filter((part) => part !== "");
  return all.length === 0 ? "all entries" : all.join("; ");
}

export function Subscriptions({ wanted }: { readonly wanted: string }) {
  const { told, silent } = useAllNodes({ request: "subscriptions", limit: SHOWN_MAX }, EVERY_MS);
  const all = told.flatMap(([node, answer]) => (answer.answer === "subscriptions" ? answer.subscriptions.map((subscription, at) => ({ node, at, subscription, words: wantedBy(subscription) })) : []));
  const list = all.filter(({ node, subscription, words }) => [subscription.subscriber, words, node].some((text) => searchFits(wanted, text)));
  const more = told.reduce((sum, [, answer]) => sum + (answer.answer === "subscriptions" ? answer.total - answer.subscriptions.length : 0), 0);
  return (
    <>
      <SilentNodes of={silent} />
      {more > 0 ? <p class="remark">{count(more)} more not shown.</p> : null}
      <div class="table-head subscription-row">
        <span>Subscriber</span>
        <span>Search</span>
        <span class="is-wide">FIPA conversation</span>
        <span class="is-wide">Node</span>
      </div>
      <VirtualList
        items={list}
        rowHeight={28}
        label="Subscriptions"
        keyOf={({ node, at }) => `${node} ${at}`}
        onOpen={({ subscription }) => go("society", subscription.subscriber)}
        rowClass="subscription-row"
        empty={told.length === 0 ? <Empty title="Loading…" /> : all.length > 0 ? <Empty title="No subscription matches the search" /> : <Empty title="No subscriptions">Agents subscribe with .df_subscribe or a subscribe to df.</Empty>}
        row={({ node, subscription, words }) => (
          <>
            <Name of={subscription.subscriber} />
            <span class="cut" title={visible(words, 400)}>
              {visible(words, 200)}
            </span>
            <span class="is-wide is-quiet cut">{subscription.conversation === null ? "none" : visible(subscription.conversation, 60)}</span>
            <span class="is-wide is-quiet cut">{visible(node, 24)}</span>
          </>
        )}
      />
    </>
  );
}

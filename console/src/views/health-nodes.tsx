/** How each node of several is doing, in figures. */
import type { Answer, NodeInfo } from "../live/vocabulary.js";
import { NodeRates } from "../model/rates.js";
import { bytes, count, duration, short, visible } from "../model/format.js";
import { useEverywhere, WhoIsSilent } from "../parts/everywhere.js";
import { society } from "../session.js";

const EVERY_MS = 2_000;
const rates = new NodeRates();

const nodeOf = (answer: Answer): readonly NodeInfo[] => (answer.answer === "node" ? [answer] : []);

export function HealthOfNodes() {
  const { told, silent } = useEverywhere({ request: "node" }, EVERY_MS);
  if (society.others.value === "") return null;
  const nodes = told.flatMap(([, answer]) => nodeOf(answer));
  return (
    <section class="panel nodes-health">
      <WhoIsSilent of={silent} />
      <table>
        <thead>
          <tr>
            <th>Node</th>
            <th>Agents</th>
            <th>Messages a second</th>
            <th>Waiting</th>
            <th>Dead</th>
            <th class="is-wide">Memory</th>
            <th class="is-wide">Up</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => {
            const rate = rates.note(node);
            return (
              <tr key={node.node}>
                <td>{visible(node.node, 40)}</td>
                <td>{count(node.agents)}</td>
                <td>{rate === null ? "–" : short(rate)}</td>
                <td>{short(node.queued)}</td>
                <td class={node.dead > 0 ? "is-fault" : ""}>{short(node.dead)}</td>
                <td class="is-wide">{node.memory_bytes === null ? "–" : bytes(node.memory_bytes)}</td>
                <td class="is-wide">{duration(node.up_us / 1000)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

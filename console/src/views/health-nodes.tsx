/** Table of all nodes' figures, and the choice of the charts' node. */
import type { Sum } from "../live/vocabulary.js";
import { bytes, count, duration, short, visible } from "../model/format.js";
import { society, totals } from "../session.js";

interface Row extends Sum {
  /** Name of the node; empty for the sum. */
  readonly name: string;
  readonly perS: number | null;
  readonly up_us: number | null;
}

interface Props {
  readonly at: string;
  readonly onPick: (node: string) => void;
}

export function NodeHealth({ at, onPick }: Props) {
  const sum = totals.sum.value;
  if (society.others.value === "" || !sum) return null;
  const rows: Row[] = [
    { ...sum, name: "", perS: totals.messagesPerS.value, up_us: null },
    ...totals.nodes.value.map(({ info, rates }) => ({ ...info, memory_bytes: info.memory_bytes ?? 0, name: info.node, perS: rates?.sent ?? null })),
  ];
  return (
    <section class="panel nodes-health">
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
          {rows.map((row) => (
            <Figures key={row.name} row={row} isIt={row.name === at} onPick={onPick} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Figures({ row, isIt, onPick }: { readonly row: Row; readonly isIt: boolean; readonly onPick: Props["onPick"] }) {
  return (
    <tr class={isIt ? "is-it" : ""} onClick={() => onPick(row.name)}>
      <td>
        <button type="button" aria-pressed={isIt} title={row.name === "" ? "Charts of all nodes" : `Charts of ${row.name} alone`}>
          {row.name === "" ? "all nodes" : visible(row.name, 40)}
        </button>
      </td>
      <td>{count(row.agents)}</td>
      <td>{row.perS === null ? "–" : short(row.perS)}</td>
      <td>{short(row.queued)}</td>
      <td class={row.dead > 0 ? "is-fault" : ""}>{short(row.dead)}</td>
      <td class="is-wide">{row.memory_bytes === 0 ? "–" : bytes(row.memory_bytes)}</td>
      <td class="is-wide">{row.up_us === null ? "" : duration(row.up_us / 1000)}</td>
    </tr>
  );
}

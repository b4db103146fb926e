/** Selector of a node, where there are several. */
import { visible } from "../model/format.js";
import { society } from "../session.js";

interface Props {
  /** Name of a node; empty for all. */
  readonly at: string;
  readonly onPick: (node: string) => void;
}

export function NodeSelect({ at, onPick }: Props) {
  const names = society.cards.value.map(({ name }) => name);
  if (names.length < 2 && at === "") return null;
  return (
    <select class="field" aria-label="Node" value={at} onChange={(event) => onPick(event.currentTarget.value)}>
      <option value="">all nodes</option>
      {(names.includes(at) || at === "" ? names : [...names, at]).map((name) => (
        <option key={name} value={name}>
          {visible(name, 24)}
        </option>
      ))}
    </select>
  );
}

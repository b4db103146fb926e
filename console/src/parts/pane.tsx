/** A pane with details of the chosen item. On a phone it covers the list. */
import type { ComponentChildren } from "preact";
import { Icon } from "./icons.js";

export function Pane({ title, label, onClose, children }: { readonly title: ComponentChildren; readonly label: string; readonly onClose: () => void; readonly children: ComponentChildren }) {
  return (
    <aside class="pane" aria-label={label}>
      <header class="pane-head">
        <h2>{title}</h2>
        <button type="button" class="button is-bare" title="Close (Esc)" aria-label="Close" onClick={onClose}>
          <Icon of="close" />
        </button>
      </header>
      <div class="pane-body">{children}</div>
    </aside>
  );
}

/** A list of names and values. Empty values are left out. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) =>
        value === null || value === undefined || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Texts of agents: always plain text, with hidden characters made visible. */
import { visible } from "../model/format.js";
import { family } from "../model/performative.js";

/** Maximum length of a name on the screen. */
const NAME_MAX = 120;

export function Name({ of }: { readonly of: string }) {
  const text = visible(of, NAME_MAX);
  return (
    <bdi class="name" title={visible(of, 400)}>
      {text}
    </bdi>
  );
}

export function Performative({ of }: { readonly of: string }) {
  return <span class={`performative is-${family(of)}`}>{visible(of, 40)}</span>;
}

export function State({ of }: { readonly of: string | null }) {
  // Only the agent's own node knows its state.
  const state = of ?? "elsewhere";
  return <span class={`state is-${/^[a-z]+$/.test(state) ? state : "elsewhere"}`}>{visible(state, 20)}</span>;
}

export function Empty({ title, children }: { readonly title: string; readonly children?: preact.ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children ? <span>{children}</span> : null}
    </div>
  );
}

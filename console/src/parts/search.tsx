/** A search field. The key `/` focuses it. */
import type { Signal } from "@preact/signals";
import { Icon } from "./icons.js";

export function Search({ of, placeholder }: { readonly of: Signal<string>; readonly placeholder: string }) {
  return (
    <label class="search">
      <Icon of="search" />
      <input data-search aria-label="Search" placeholder={placeholder} value={of.value} onInput={(event) => (of.value = event.currentTarget.value)} />
      <kbd>/</kbd>
    </label>
  );
}

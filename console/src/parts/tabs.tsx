/** Tabs of a view. */
export function Tabs<T extends string>({ of, at, onPick }: { readonly of: readonly (readonly [T, string])[]; readonly at: T; readonly onPick: (tab: T) => void }) {
  return (
    <div class="choice" role="group" aria-label="Tabs">
      {of.map(([one, label]) => (
        <button type="button" class="button" aria-pressed={at === one} onClick={() => onPick(one)}>
          {label}
        </button>
      ))}
    </div>
  );
}

/** Grid that an environment shows: `#` is a wall, a capital an agent, a small letter an object, `.` an empty cell. */

/** Returns the class of a cell. */
function kindOf(cell: string): string {
  if (cell === "#") return "is-wall";
  if (cell === ".") return "";
  return cell === cell.toLowerCase() ? "is-object" : "is-agent";
}

export function Grid({ rows }: { readonly rows: string }) {
  const lines = rows.split("\n");
  return (
    <div class="grid-world" role="img" aria-label={`Grid of ${lines[0]?.length ?? 0} columns and ${lines.length} rows`}>
      {lines.map((line, y) => (
        <div key={y}>
          {[...line].map((cell, x) => (
            <span key={x} class={kindOf(cell)} title={`${x}, ${y}`}>
              {cell === "#" || cell === "." ? "" : cell}
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}

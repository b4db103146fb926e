/** Report of a benchmark: JSON rows for programs, and tables for people. */

export type Figures = Readonly<Record<string, number | string>>;

/** A measurement with its parameters. Names contain the units. */
export interface Row {
  readonly params: Figures;
  readonly metrics: Readonly<Record<string, number>>;
}

/** A target value. */
export interface Target {
  readonly what: string;
  readonly isMet: boolean;
}

/** Version and machine of a measurement. */
export interface Origin {
  readonly version: string;
  readonly machine: Figures;
}

/** Formats a row in the form that all benchmarks share. */
export function line(part: string, { params, metrics }: Row, { version, machine }: Origin): string {
  return JSON.stringify({ bench: "browser", version, machine, params: { part, ...params }, metrics: Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, rounded(value)])) });
}

/** Rounds to four digits. Whole numbers stay. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

/** Formats rows as tables. Rows with the same columns share a table. */
export function table(rows: readonly Row[]): string {
  const lines: string[] = [];
  let last = "";
  const cells = rows.flatMap(({ params, metrics }) => {
    const all = { ...params, ...metrics };
    const names = Object.keys(all);
    const values = Object.values(all).map((value) => (typeof value === "number" ? String(rounded(value)) : value));
    const isNew = names.join() !== last;
    last = names.join();
    return isNew ? [names, values] : [values];
  });
  const widths: number[] = [];
  for (const row of cells) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length)));
  for (const row of cells) lines.push(`  ${row.map((cell, at) => cell.padStart(widths[at] ?? 0)).join("  ")}`);
  return lines.join("\n");
}

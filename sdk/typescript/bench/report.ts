/** What a benchmark prints: rows as JSON for programs, and as tables for people. */

export type Figures = Readonly<Record<string, number | string>>;

/** One measurement: under which circumstances, and what came of it. Units are in the names. */
export interface Row {
  readonly params: Figures;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Something that was aimed at. */
export interface Target {
  readonly what: string;
  readonly isMet: boolean;
}

/** Who measured, and where. */
export interface Origin {
  readonly version: string;
  readonly machine: Figures;
}

/** In the form that all benchmarks share. */
export function line(part: string, { params, metrics }: Row, { version, machine }: Origin): string {
  return JSON.stringify({ bench: "browser", version, machine, params: { part, ...params }, metrics: Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, rounded(value)])) });
}

/** Four digits say enough of what differs from run to run; whole numbers stay. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

/** Rows below the names of what is in them, those that have the same in one table. */
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

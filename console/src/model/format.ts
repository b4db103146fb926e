/** Figures and texts for people. */

const THIN = "\u2009";

/** Formats an integer: `12 345`, with thin spaces. */
export function count(n: number): string {
  return Math.round(n).toString().replaceAll(/\B(?=(\d{3})+$)/g, THIN);
}

/** Formats a number in at most four digits: `940`, `12.3 k`, `4.5 M`. */
export function short(n: number): string {
  if (n !== 0 && Math.abs(n) < 10 && !Number.isInteger(n)) return n.toFixed(1);
  if (Math.abs(n) < 9_999.5) return count(n);
  for (const [unit, size] of [["k", 1e3], ["M", 1e6], ["G", 1e9]] as const) {
    const value = n / size;
    if (Math.abs(value) < 999.5) return `${value.toFixed(Math.abs(value) < 99.95 ? 1 : 0)}${THIN}${unit}`;
  }
  return n.toExponential(1);
}

export function bytes(n: number): string {
  let value = n;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 999.5) return `${value.toFixed(unit === "B" || value >= 99.95 ? 0 : 1)}${THIN}${unit}`;
    value /= 1000;
  }
  return `${value.toFixed(1)}${THIN}TB`;
}

export function micros(us: number): string {
  if (us < 999.5) return `${us.toFixed(us < 9.95 && !Number.isInteger(us) ? 1 : 0)}${THIN}µs`;
  if (us < 999_500) return `${(us / 1e3).toFixed(us < 99_950 ? 1 : 0)}${THIN}ms`;
  return `${(us / 1e6).toFixed(1)}${THIN}s`;
}

/** Formats a duration: `3s`, `4m 10s`, `2h 5m`, `3d 4h`. */
export function duration(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86_400)}d ${Math.floor((s % 86_400) / 3600)}h`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** Formats the time of day, UTC, with milliseconds. */
export function clock(atUs: number): string {
  const ms = Math.floor(atUs / 1000);
  const s = Math.floor(ms / 1000);
  return `${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}.${String(ms % 1000).padStart(3, "0")}`;
}

/** Formats date and time, UTC. */
export function date(atUs: number): string {
  return new Date(atUs / 1000).toISOString().replace("T", " ").replace("Z", "Z");
}

/** Returns a text on one line, with invisible and direction-changing characters written as numbers. */
export function visible(text: string, most = 2_000): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replaceAll(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (c) => {
    if (c === "\n") return "⏎";
    if (c === "\t") return "→";
    return `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** Does the same as `visible`, but keeps lines. */
export function visibleLines(text: string, most = 100_000): string {
  return text
    .slice(0, most)
    .split("\n")
    .map((line) => visible(line.replaceAll("\t", "  "), most))
    .join("\n")
    .concat(text.length > most ? "…" : "");
}

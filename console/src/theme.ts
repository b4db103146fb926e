/** Light or dark theme, from the system or chosen, and the colours for canvases. */
import { signal } from "@preact/signals";
import { readStored, writeStored } from "./storage.js";

export type Theme = "auto" | "light" | "dark";
const KEY = "whimbrel.theme";
const COLOURS = ["bg", "surface", "sunken", "ink", "ink-2", "ink-3", "line", "line-2", "accent", "accent-soft", "ask", "offer", "tell", "refuse", "fail", "other"] as const;
export type Palette = Readonly<Record<(typeof COLOURS)[number], string>>;

const stored = readStored("browser", KEY);
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "auto");
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function apply(): void {
  const isDark = theme.value === "dark" || (theme.value === "auto" && systemIsDark.matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  palette.value = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Palette;
}

export const palette = signal<Palette>({} as Palette);

export function startTheme(): void {
  systemIsDark.addEventListener("change", apply);
  apply();
}

/** Switches between light and dark. Returns to `auto` if the choice equals the system's. */
export function toggleTheme(): void {
  const next = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark";
  theme.value = (next === "dark") === systemIsDark.matches ? "auto" : next;
  writeStored("browser", KEY, theme.value === "auto" ? null : theme.value);
  apply();
}

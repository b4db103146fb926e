/**
 * Runner of the AgentSpeak conformance cases on a device's society. Node and browsers share it, so it uses no API of
 * either.
 */
import { ProgramError, Society } from "../src/agentspeak.js";
import { VirtualClock } from "./virtual-clock.js";

/** A case: its files, and the output of real Jason. */
export interface Case {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly expected: string;
}

/** Maximum duration of a program, in virtual milliseconds. */
const PROGRAM_MS = 10_000;
const LINE = /^\[([A-Za-z]\w*)\] ?(.*)$/;
const GENERATED = /\b_\d+\w*/g;
/** Lines of Jason's own. */
const WARNINGS = [
  "No failure event was generated",
  "No fail event was generated",
  "Found a goal for which there is no",
  "Could not finish intention",
  "was replaced by",
  "warning:",
];
/** Jason's reports of failures that no plan handles, and the empty line that ends one. Whimbrel words its own. */
const REPORT = /^$|^Error in internal action |^file:\S+:\d+: /;

/** Groups the comparable lines by agent, as `conformance/run.py` does. */
function byAgent(text: string): Record<string, string[]> {
  const agents: Record<string, string[]> = {};
  for (const line of text.split("\n")) {
    const [, agent, said] = LINE.exec(line) ?? [];
    if (agent === undefined || said === undefined || agent === "RunLocalMAS" || REPORT.test(said) || WARNINGS.some((warning) => line.includes(warning))) continue;
    (agents[agent] ??= []).push(said.replace(GENERATED, "_V").trimEnd());
  }
  return Object.fromEntries(Object.entries(agents).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Output as on a terminal: `bare` text continues the line. */
class Terminal {
  text = "";
  #isBare = false;

  line(agent: string, text: string): void {
    if (this.#isBare) this.text += "\n";
    this.#isBare = false;
    this.text += `[${agent}] ${text}\n`;
  }

  bare(text: string): void {
    this.text += text;
    this.#isBare = true;
  }
}

/** Returns the output of a program. */
export async function run(module: WebAssembly.Module, files: Case["files"]): Promise<string> {
  const clock = new VirtualClock();
  let chance = 1n;
  const random = (): bigint => BigInt.asIntN(64, (chance = BigInt.asUintN(64, chance * 6364136223846793005n + 1442695040888963407n)));
  const society = await Society.load(module, { clock, random, sliceMs: 0.5 });
  const terminal = new Terminal();
  society.on("printed", ({ agent, text, bare }) => (bare ? terminal.bare(text) : terminal.line(agent, text)));
  // `whimbrel run` prints notes, too.
  society.on("noted", ({ agent, level, text }) => level !== "debug" && level !== "severe" && terminal.line(agent, text));
  society.on("failed", (error) => terminal.line("engine", String(error)));
  society.putFiles(files);
  try {
    await society.open("prog.mas2j" in files ? "prog.mas2j" : "prog.asl");
    clock.pass(PROGRAM_MS);
    const { sent, came, handled, dead, queued, left } = society.isOver ? { sent: 0, came: 0, handled: 0, dead: 0, queued: 0, left: 0 } : society.counters;
    if (sent + came !== handled + dead + queued + left) terminal.line("engine", "messages do not add up");
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    for (const { rendered } of error.diagnostics) terminal.line("error", rendered);
  }
  return terminal.text;
}

/** Returns the differences from a case's expected output; undefined if it passes. */
export async function difference(module: WebAssembly.Module, { files, expected }: Case): Promise<string | undefined> {
  const [wanted, got] = [byAgent(expected), byAgent(await run(module, files))].map((lines) => JSON.stringify(lines, null, 1));
  return wanted === got ? undefined : `wanted ${wanted}\ngot ${got}`;
}

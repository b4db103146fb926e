/** The conformance cases of AgentSpeak, on a society of a device: shared by Node and a browser, so without anything of either. */
import { ProgramError, Society } from "../src/agentspeak.js";
import { VirtualClock } from "./virtual-clock.js";

/** A case: its files, and what real Jason printed. */
export interface Case {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly expected: string;
}

/** How long a program may run, in milliseconds of its own time. */
const PROGRAM_MS = 10_000;
const LINE = /^\[([A-Za-z]\w*)\] ?(.*)$/;
const GENERATED = /\b_\d+\w*/g;
/** What Jason says of its own accord. */
const WARNINGS = [
  "No failure event was generated",
  "No fail event was generated",
  "Found a goal for which there is no",
  "Could not finish intention",
  "was replaced by",
  "warning:",
];

/** Each agent's comparable lines, in order, as `conformance/run.py` compares them. */
function byAgent(text: string): Record<string, string[]> {
  const agents: Record<string, string[]> = {};
  for (const line of text.split("\n")) {
    const [, agent, said] = LINE.exec(line) ?? [];
    if (agent === undefined || said === undefined || agent === "RunLocalMAS" || WARNINGS.some((warning) => line.includes(warning))) continue;
    (agents[agent] ??= []).push(said.replace(GENERATED, "_V").trimEnd());
  }
  return Object.fromEntries(Object.entries(agents).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What is printed, as on a terminal: what is bare goes on in the same line. */
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

/** What a program prints. */
export async function run(module: WebAssembly.Module, files: Case["files"]): Promise<string> {
  const clock = new VirtualClock();
  let chance = 1n;
  const random = (): bigint => BigInt.asIntN(64, (chance = BigInt.asUintN(64, chance * 6364136223846793005n + 1442695040888963407n)));
  const society = await Society.load(module, { clock, random, sliceMs: 0.5 });
  const terminal = new Terminal();
  society.on("printed", ({ agent, text, bare }) => (bare ? terminal.bare(text) : terminal.line(agent, text)));
  // `whimbrel run` shows what is noted, too.
  society.on("noted", ({ agent, level, text }) => level !== "debug" && terminal.line(agent, text));
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

/** What a case prints that it should not, or not in this order; undefined if it passes. */
export async function difference(module: WebAssembly.Module, { files, expected }: Case): Promise<string | undefined> {
  const [wanted, got] = [byAgent(expected), byAgent(await run(module, files))].map((lines) => JSON.stringify(lines, null, 1));
  return wanted === got ? undefined : `wanted ${wanted}\ngot ${got}`;
}

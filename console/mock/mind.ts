/** Mock of the mind of a contract net's initiator. It changes with the messages that it gets. */
import type { AgentState, FrameInfo, MessageInfo, MindInfo } from "../src/live/vocabulary.js";

/** Line of the first step of plan p2. */
const FIRST_STEP = 16;

const PLANS = [
  { label: "p1", trigger: "+!open", context: "true", line: 9, body: `.df_search("contractor", L);\n+contractors(L);\n!round(1)` },
  { label: "p2", trigger: "+!round(N)", context: "contractors(L) & .length(L, M) & M > 0", line: 15, body: `.send(L, cfp, task(N));\n.wait(bids(N, M), 2000);\n!award(N);\n!round(N+1)` },
  { label: "award", trigger: "+!award(N)", context: ".findall(P-A, offer(N, P)[source(A)], O) & O \\== []", line: 22, body: `.min(O, P-W);\n+winner(N, W);\n.send(W, accept-proposal, N);\n.print("round ", N, ": ", W, " at ", P)` },
  { label: "p4", trigger: "-!award(N)", context: "true", line: 27, body: `.print("nobody bid for ", N)` },
  { label: "p5", trigger: "+done(J)[source(A)]", context: "winner(_, A)", line: 31, body: `-+trust(A, good);\n-done(J)[source(A)]` },
];

/** Program of the mock's initiators. Its lines are those of the plans. */
export const SOURCE = `// Contract net: an initiator that awards rounds for ever.
budget(1200).
cheap(P) :- budget(B) & P < B / 10.

!open.
!audit.

@p1
+!open
   <- .df_search("contractor", L);
      +contractors(L);
      !round(1).

@p2
+!round(N) : contractors(L) & .length(L, M) & M > 0
   <- .send(L, cfp, task(N));
      .wait(bids(N, M), 2000);
      !award(N);
      !round(N+1).

@award
+!award(N) : .findall(P-A, offer(N, P)[source(A)], O) & O \\== []
   <- .min(O, P-W);
      +winner(N, W);
      .send(W, accept-proposal, N).
`;

export class MockMind {
  cycle = 0;
  paused = false;
  readonly breakpoints = new Set<string>();
  readonly lines: { file: string; line: number }[] = [];
  readonly believed: { text: string; sources: string[] }[] = [];
  readonly pursued: string[] = [];
  #round = 1;
  #step = 0;
  #mailbox: MessageInfo[] = [];
  #recent: { cycle: number; text: string }[] = [];

  constructor(private readonly name: string) {}

  breakAt(file: string, line: number, on: boolean): void {
    const at = this.lines.findIndex((one) => one.file === file && one.line === line);
    if (at >= 0) this.lines.splice(at, 1);
    if (on) this.lines.push({ file, line });
  }

  hear(message: MessageInfo): void {
    this.#mailbox.push(message);
    if (!this.paused) this.step();
  }

  step(): void {
    this.cycle++;
    const message = this.#mailbox.shift();
    if (message && message.performative === "propose") this.believed.push({ text: message.content.replace("offer(", `offer(${this.#round}, `), sources: [message.from] });
    if (this.believed.length > 14) this.believed.splice(0, 9);
    this.#step = (this.#step + 1) % 4;
    if (this.#step === 0) this.#round++;
    const plan = this.#step === 2 ? "award" : "p2";
    if (this.breakpoints.has(plan) || this.lines.some(({ line }) => line === FIRST_STEP + this.#step)) this.paused = true;
    this.#recent.push({ cycle: this.cycle, text: message ? `${message.performative} from ${message.from} -> ${plan}` : `+!round(${this.#round}) -> ${plan}` });
    if (this.#recent.length > 30) this.#recent.shift();
  }

  info(state: AgentState): MindInfo {
    const belief = (text: string, sources: readonly string[], rule = false) => ({ text, namespace: "default", sources, annotations: [], rule });
    return {
      agent: this.name, kind: "agentspeak", state, cycle: this.cycle, paused: this.paused, source_file: "initiator.asl",
      beliefs: [belief("budget(1200)", ["self"]), belief("contractors([contractor1,contractor2,contractor3,contractor4])", ["self"]), belief("cheap(P) :- budget(B) & P < B / 10", [], true), ...this.believed.map(({ text, sources }) => belief(text, sources))],
      goals: [{ text: `!round(${this.#round})`, state: "executing", intention: 1, reason: null }, { text: "!audit", state: "suspended", intention: 2, reason: "wait(5000)" }, ...this.pursued.map((text, index) => ({ text: `!${text}`, state: "waiting", intention: 3 + index, reason: null }))],
      intentions: [{ id: 1, state: "running", waits_for: this.#step === 1 ? `bids(${this.#round}, 4)` : null, frames: this.#frames() }, { id: 2, state: "waiting", waits_for: "wait(5000)", frames: [{ trigger: "+!audit", plan: "p5", file: "initiator.asl", line: 31, step: "-+trust(A, good)", step_line: 32, unifier: [["A", "contractor3"]] }] }],
      plans: PLANS.map((plan) => ({ ...plan, file: "initiator.asl", breakpoint: this.breakpoints.has(plan.label) })),
      mailbox: this.#mailbox.slice(0, 20).map(({ from, performative, content }) => ({ from, performative, content })),
      line_breakpoints: [...this.lines],
      mailbox_total: this.#mailbox.length,
      events: [{ text: `+!round(${this.#round + 1})`, intention: 1 }],
      recent: this.#recent,
      cut: { beliefs: 0, plans: 0 },
    };
  }

  #frames(): FrameInfo[] {
    const steps = [`.send(L, cfp, task(N))`, `.wait(bids(N, M), 2000)`, `!award(N)`, `!round(N+1)`];
    const round: FrameInfo = { trigger: "+!round(N)", plan: "p2", file: "initiator.asl", line: 15, step: steps[this.#step] ?? null, step_line: FIRST_STEP + this.#step, unifier: [["N", String(this.#round)], ["L", "[contractor1,contractor2,contractor3,contractor4]"], ["M", "4"]] };
    const award: FrameInfo = { trigger: "+!award(N)", plan: "award", file: "initiator.asl", line: 22, step: ".send(W, accept-proposal, N)", step_line: 25, unifier: [["N", String(this.#round)], ["W", "contractor3"], ["P", "31"]] };
    return this.#step === 2 ? [award, round] : [round];
  }
}

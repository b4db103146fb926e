/**
 * Player of protocol scripts on a node, for one side of each script: conformance/protocols/README.md says how.
 *
 * usage: player.js initiator|participant RUN[,RUN...] [SCRIPT,...]
 */
import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Aid } from "../src/acl/aid.js";
import { message as messageOf, replyTo, type Message } from "../src/acl/message.js";
import { Agent } from "../src/agents/agent.js";
import { connect } from "../src/node.js";
import { Machines } from "../src/protocols/machines.js";
import { KNOWN, scripts, type Script, type ScriptStep } from "./protocol-scripts.js";

/** Scripts that initiators play at a time. */
const AT_A_TIME = 16;
/** Time without progress after which a player gives up. For the first message it waits as long as the other needs. */
const PATIENCE_MS = 10_000;
/** Time after a deadline that a late message waits for. */
const LATER_MS = 20;

/** Messages of one sender, in order. */
class MessageQueue {
  readonly #messages: Message[] = [];
  #wake = (): void => undefined;

  put(message: Message): void {
    this.#messages.push(message);
    this.#wake();
  }

  async take(isFirst: boolean): Promise<Message> {
    const patience = AbortSignal.timeout(isFirst ? 10 * PATIENCE_MS : PATIENCE_MS);
    for (;;) {
      const message = this.#messages.shift();
      if (message) return message;
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        patience.addEventListener("abort", () => reject(new Error("no message came")), { once: true });
      });
    }
  }
}

/** Player of a script. The node's messages wait until the script comes to them; then the machines judge them. */
class Player extends Agent {
  readonly #machines: Machines | undefined;
  readonly #queues = new Map<string, MessageQueue>();
  readonly #quotes = new Map<string, string>();
  readonly #replyBy = new Map<string, number>();
  readonly #heard: Record<string, (readonly [string, string | null])[]> = {};

  constructor(
    readonly side: string,
    readonly script: Script,
    readonly protocol: string,
    readonly player: string,
  ) {
    super();
    this.#machines = script.breaks?.includes(player) ? undefined : new Machines(KNOWN, ({ name }) => name);
  }

  agentOf(player: string): string {
    return `${this.script.name}_${player}_${this.side}`.replaceAll("-", "_");
  }

  override setup(): void {
    this.onMessage((message) => this.#queue(message.sender.name).put(message));
  }

  #queue(sender: string): MessageQueue {
    const queue = this.#queues.get(sender) ?? new MessageQueue();
    this.#queues.set(sender, queue);
    return queue;
  }

  #conversation(step: ScriptStep): string {
    return `${this.side}.${this.script.name}${step.conversation === undefined ? "" : `.${step.conversation}`}`;
  }

  async play(): Promise<unknown> {
    const report = { run: this.side, script: this.script.name, player: this.player, heard: this.#heard };
    let error: unknown;
    for (const step of this.script.steps) {
      try {
        await this.#step(step);
      } catch (failed) {
        error = `${JSON.stringify(step)}: ${String(failed)}`;
        break;
      }
    }
    const ends = Object.keys(this.script.players).flatMap((other) => {
      const state = this.#machines?.find(this.#conversation({}), this.agentOf(other))?.state;
      return state === undefined ? [] : [[other, state] as const];
    });
    return { ...report, ends: Object.fromEntries(ends), ...(error !== undefined && { error }) };
  }

  async #step(step: ScriptStep): Promise<void> {
    if (step.take === this.player) await this.#take(step.from ?? "");
    else if (step.deadline === this.player) await this.#passDeadline(step.with ?? "");
    else if (step.by === this.player && !step.auto) await this.#say(step);
    else if (step.to?.includes(this.player) && !step.held) await this.#take(step.by ?? "");
  }

  async #take(other: string): Promise<void> {
    const isFirst = Object.keys(this.#heard).length === 0 && this.script.players[this.player] === "participant";
    const message = await this.#queue(this.agentOf(other)).take(isFirst);
    const judged = this.#machines?.receive(message, Date.now());
    (this.#heard[other] ??= []).push([message.performative, this.#machines ? (judged?.verdict ?? "ok") : null]);
    if (judged?.answer !== undefined) this.send(replyTo(message, Aid.NOBODY, judged.answer, judged.reason ?? null));
    if (message.replyWith !== undefined) this.#quotes.set(`${other} ${message.conversationId}`, message.replyWith);
    if (message.replyByMs !== undefined) this.#replyBy.set(other, message.replyByMs);
  }

  async #passDeadline(other: string): Promise<void> {
    const machine = this.#machines?.find(this.#conversation({}), this.agentOf(other));
    for (;;) {
      if (machine?.deadlineMs === undefined) return;
      await sleep(Math.max(0, machine.deadlineMs - Date.now()));
      this.#machines?.tick(Date.now());
    }
  }

  async #say(step: ScriptStep): Promise<void> {
    const [first = ""] = step.to ?? [];
    if (step.late) await sleep(Math.max(0, (this.#replyBy.get(first) ?? 0) + LATER_MS - Date.now()));
    const conversationId = this.#conversation(step);
    const inReplyTo = step.quotes === undefined ? this.#quotes.get(`${first} ${conversationId}`) : (step.quotes ?? undefined);
    const message = messageOf({
      performative: step.say ?? "",
      receivers: (step.to ?? []).map((to) => this.agentOf(to)),
      content: step.content ?? null,
      protocol: this.protocol,
      conversationId,
      replyWith: step.id,
      inReplyTo,
      replyByMs: step.reply_by === undefined ? undefined : Date.now() + step.reply_by,
    });
    this.#machines?.send(message, Date.now());
    this.send(message);
  }
}

/** Plays groups of players, so many at a time. */
async function playAll(groups: readonly (readonly Player[])[], most: number): Promise<void> {
  const rest = [...groups];
  const play = async (): Promise<void> => {
    for (let group = rest.shift(); group; group = rest.shift()) for (const report of await Promise.all(group.map((player) => player.play()))) console.log(JSON.stringify(report));
  };
  await Promise.all(Array.from({ length: most }, play));
}

async function main(role = "", runs = "", names = ""): Promise<void> {
  const chosen = scripts().filter(({ script }) => names === "" || names.split(",").includes(script.name));
  const groups: Player[][] = [];
  const platforms = [];
  // A session for each run: a node limits the agents of a session.
  for (const side of runs.split(",")) {
    const platform = await connect(process.env["WHIMBREL_URL"] ?? "", { token: process.env["WHIMBREL_TOKEN"] ?? "" });
    const players = chosen.map(({ protocol, script }) => Object.entries(script.players).flatMap(([player, part]) => (part === role ? [new Player(side, script, protocol, player)] : [])));
    await Promise.all(players.flat().map((player) => platform.create(player.agentOf(player.player), player)));
    groups.push(...players);
    platforms.push(platform);
  }
  console.log("ready");
  if (role === "initiator") {
    const input = createInterface({ input: process.stdin });
    await new Promise((resolve) => input.once("line", resolve));
    input.close();
  }
  await playAll(groups, role === "initiator" ? AT_A_TIME : groups.length);
  await Promise.all(platforms.map((platform) => platform.close()));
}

await main(...process.argv.slice(2));
process.exit(0);

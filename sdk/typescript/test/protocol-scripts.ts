/** Scripts of `conformance/protocols`: their types, and a replay of them with machines on a virtual clock. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Aid } from "../src/acl/aid.js";
import { message as messageOf, replyTo, type Message } from "../src/acl/message.js";
import { Machines } from "../src/protocols/machines.js";
import type { Protocol } from "../src/protocols/machine.js";
import * as tables from "../src/protocols/tables.js";
import { repository } from "./vectors.js";

/** Folder of the protocols. */
export const PROTOCOLS = join(repository(), "conformance/protocols");

/** A step of a script. */
export interface ScriptStep {
  readonly by?: string;
  readonly to?: readonly string[];
  readonly say?: string;
  readonly deadline?: string;
  readonly with?: string;
  readonly take?: string;
  readonly from?: string;
  readonly verdict?: string;
  readonly content?: string | number;
  readonly id?: string;
  readonly quotes?: string | null;
  readonly reply_by?: number;
  readonly auto?: boolean;
  readonly held?: boolean;
  readonly late?: boolean;
  readonly conversation?: string;
}

/** A script. */
export interface Script {
  readonly name: string;
  readonly players: Readonly<Record<string, string>>;
  readonly breaks?: readonly string[];
  readonly steps: readonly ScriptStep[];
  readonly ends: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** All protocols by name. */
export const KNOWN: ReadonlyMap<string, Protocol> = new Map(Object.values(tables).map((protocol) => [protocol.name, protocol]));

/** Returns all scripts with their protocols. */
export function scripts(): { readonly protocol: string; readonly script: Script }[] {
  return readdirSync(join(PROTOCOLS, "scripts")).flatMap((name) => {
    const file = JSON.parse(readFileSync(join(PROTOCOLS, "scripts", name), "utf8")) as { readonly protocol: string; readonly scripts: readonly Script[] };
    return file.scripts.map((script) => ({ protocol: file.protocol, script }));
  });
}

/** Replay of one script with all its players. */
export class ScriptReplay {
  #nowMs = 1_000_000;
  readonly #players = new Map<string, Machines>();
  readonly #quotes = new Map<string, string>();
  readonly #replyBy = new Map<string, number>();
  readonly #answers: Message[] = [];
  readonly #held: Message[] = [];

  constructor(
    readonly script: Script,
    readonly protocol: string,
  ) {
    for (const player of Object.keys(script.players)) if (!script.breaks?.includes(player)) this.#players.set(player, new Machines(KNOWN));
  }

  run(): void {
    for (const step of this.script.steps) this.#step(step);
    assert.deepEqual(this.#answers, [], "automatic answers that are not in the script");
    for (const [player, ends] of Object.entries(this.script.ends)) {
      const found = Object.keys(ends).map((other) => [other, this.#players.get(player)?.find("c", other)?.state]);
      assert.deepEqual(Object.fromEntries(found), ends, player);
    }
  }

  #step(step: ScriptStep): void {
    if (step.deadline !== undefined) {
      const machine = this.#players.get(step.deadline)?.find("c", step.with ?? "");
      this.#nowMs = machine?.deadlineMs ?? assert.fail(JSON.stringify(step));
      this.#players.get(step.deadline)?.tick(this.#nowMs);
    } else if (step.take !== undefined) {
      const at = this.#held.findIndex(({ sender }) => sender.name === step.from);
      const [message] = this.#held.splice(at, 1);
      if (message) this.#deliver(step.take, message, step);
    } else {
      for (const to of step.to ?? []) this.#say(step.by ?? "", to, step);
    }
  }

  #say(by: string, to: string, step: ScriptStep): void {
    const message = step.auto ? this.#automatic(by, to, step) : this.#own(by, to, step);
    const { replyWith, replyByMs, conversationId } = message;
    if (replyWith !== undefined) this.#quotes.set(`${to} ${by} ${conversationId}`, replyWith);
    if (replyByMs !== undefined) this.#replyBy.set(`${to} ${by}`, replyByMs);
    if (step.held) this.#held.push(message);
    else this.#deliver(to, message, step);
  }

  #automatic(by: string, to: string, step: ScriptStep): Message {
    const message = this.#answers.shift() ?? assert.fail(`no automatic answer: ${JSON.stringify(step)}`);
    assert.deepEqual([message.sender.name, message.receivers[0]?.name, message.performative], [by, to, step.say]);
    if (step.content !== undefined) assert.equal(message.content, step.content, JSON.stringify(step));
    return message;
  }

  #own(by: string, to: string, step: ScriptStep): Message {
    if (step.late) this.#nowMs = Math.max(this.#nowMs, this.#replyBy.get(`${by} ${to}`) ?? 0);
    const conversationId = step.conversation === undefined ? "c" : `c.${step.conversation}`;
    const inReplyTo = step.quotes === undefined ? this.#quotes.get(`${by} ${to} ${conversationId}`) : step.quotes ?? undefined;
    const replyByMs = step.reply_by === undefined ? undefined : this.#nowMs + step.reply_by;
    const message = messageOf({ performative: step.say ?? "", sender: by, receivers: to, content: step.content ?? null, protocol: this.protocol, conversationId, replyWith: step.id, inReplyTo, replyByMs });
    this.#players.get(by)?.send(message, this.#nowMs);
    return message;
  }

  #deliver(to: string, message: Message, step: ScriptStep): void {
    const judged = this.#players.get(to)?.receive(message, this.#nowMs);
    if (!this.#players.has(to)) return;
    assert.equal(judged?.verdict, step.verdict ?? "ok", `${to}: ${JSON.stringify(step)}`);
    if (judged?.answer !== undefined) this.#answers.push(replyTo(message, Aid.of(to), judged.answer, judged.reason ?? null));
  }
}

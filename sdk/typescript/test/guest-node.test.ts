/** Test of WebAssembly agents in JavaScript and on nodes: on a real platform, and with states from either side. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Aid } from "../src/acl/aid.js";
import type { Message } from "../src/acl/message.js";
import { GuestAgent, GuestModule, GuestStorage } from "../src/guest.js";
import { readState } from "../src/guest/call-state.js";
import { messageFrame, readMessage } from "../src/guest/frame.js";
import { Guest } from "../src/guest/guest.js";
import { connect, FailureError, isTerm, term, type Value } from "../src/node.js";
import { EXAMPLES, guestModule, LANGUAGES, WITHOUT_GUESTS } from "./guests.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

/** Path of crates/wasm/examples/guest.rs: `make sdk-test` builds it. */
const HOST = process.env["WHIMBREL_GUEST_HOST"] ?? "";
const WITHOUT_HOST = !existsSync(HOST) && !process.env["WHIMBREL_REQUIRED"] ? "there is no host of guests: make sdk-test" : false;

const amy = Aid.of("amy");
const message = (content: Value, performative = "request"): Message => ({ performative, sender: amy, receivers: [Aid.of("guest")], content, replyWith: "r1" });

interface GuestRun {
  readonly heard: readonly Value[];
  readonly state: Uint8Array;
}

/** Runs an agent from a state in the host of nodes. */
function onNode(name: string, state: Uint8Array | undefined, ...messages: Message[]): GuestRun {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  const output = execFileSync(HOST, [join(EXAMPLES, `${name}.wasm`), state ? hex(state) : "-", ...messages.map((one) => hex(messageFrame(one, "test")))], { encoding: "utf8" });
  const lines = output.trim().split("\n").map((line) => line.split(" "));
  const bytes = (kind: string): Uint8Array[] => lines.flatMap(([what, digits = ""]) => (what === kind ? [Uint8Array.from(Buffer.from(digits, "hex"))] : []));
  const [last = new Uint8Array()] = bytes("state");
  return { heard: bytes("heard").map((frame) => readMessage(frame, amy).content), state: last };
}

/** Runs the same in JavaScript. */
async function inJavaScript(name: string, state: Uint8Array | undefined, ...messages: Message[]): Promise<GuestRun> {
  const heard: Value[] = [];
  const nothing = (): void => undefined;
  const surroundings = {
    ...{ name: "guest", platform: "test", node: "", storage: undefined, now: () => 0, wall: () => 0 },
    ...{ random: nothing, print: nothing, log: nothing, setLifetime: nothing },
    send: ({ content }: Message): void => void heard.push(content),
    ask: () => Promise.resolve({ code: 0 }),
  };
  const guest = new Guest(await guestModule(name), surroundings, state ?? {});
  await guest.run();
  for (const one of messages) {
    guest.deliver(one);
    await guest.run();
  }
  return { heard, state: guest.snapshot() };
}

const noted = message(null, "inform");
const asked = message(null, "query-ref");
const tour = message(term("tour", []));

test("states continue between node and JavaScript", { skip: WITHOUT_GUESTS || WITHOUT_HOST }, async () => {
  for (const language of LANGUAGES) {
    const name = `counter-${language}`;
    const there = onNode(name, undefined, noted, noted);
    const here = await inJavaScript(name, there.state, noted, asked);
    assert.deepEqual(here.heard, [3n], name);
    const back = onNode(name, here.state, noted, asked);
    assert.deepEqual(back.heard, [4n], name);
    // Compare the contents, because packing may produce other bytes.
    const again = await inJavaScript(name, there.state);
    assert.deepEqual(readState(again.state, 0), readState(there.state, 0), name);
  }
});

test("suspended states continue between node and JavaScript", { skip: WITHOUT_GUESTS || WITHOUT_HOST }, async () => {
  for (const name of [...LANGUAGES.map((language) => `traveller-${language}`), "nomad-rust"]) {
    const unmoved = (await inJavaScript(name, undefined, tour)).heard;
    assert.ok(isTerm(unmoved[0] ?? null, "sum", 3), name);
    const waiting = onNode(name, undefined);
    const here = await inJavaScript(name, waiting.state, tour);
    assert.deepEqual(here.heard, unmoved, name);
    assert.deepEqual(onNode(name, here.state, tour).heard, unmoved, name);
  }
});

/** Returns a module whose `whim_handle` answers 7. */
function failing(): Uint8Array<ArrayBuffer> {
  const text = (name: string): number[] => [name.length, ...Buffer.from(name)];
  const exported = (name: string, kind: number, index: number): number[] => [...text(name), kind, index];
  const section = (id: number, ...body: number[]): number[] => [id, body.length, ...body];
  const [I, names] = [0x7f, [exported("memory", 2, 0), exported("whim_abi", 0, 0), exported("whim_inbox", 0, 1), exported("whim_handle", 0, 2)]];
  const parts = [
    section(1, 3, 0x60, 0, 1, I, 0x60, 1, I, 1, I, 0x60, 2, I, I, 1, I),
    section(3, 3, 0, 1, 2),
    section(5, 1, 0, 1),
    section(7, names.length, ...names.flat()),
    section(10, 3, 4, 0, 0x41, 1, 0x0b, 5, 0, 0x41, 0x80, 8, 0x0b, 4, 0, 0x41, 7, 0x0b),
  ];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...parts.flat()]);
}

test("guests are found, asked and killed on a node", { skip: WITHOUT_GUESTS || WITHOUT_NODE, timeout: 120_000 }, async () => {
  const society = await Society.of({ fern: "+!hear(X)[source(A)] <- .send(A, tell, heard(X))." });
  const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
  try {
    const boss = await platform.create("boss");
    const storage = new GuestStorage();
    for (const language of LANGUAGES) {
      const worker = await platform.create(`worker-${language}`, new GuestAgent(await guestModule(`worker-${language}`)));
      const answer = await boss.ask({ performative: "request", receivers: worker.aid, content: term("sum", [1n, 2n, 3n]) });
      assert.deepEqual(answer.content, term("sum", 6n, 1n));
      const found = await boss.df.search({ services: [{ name: "sums", type: "arithmetic" }] });
      assert.ok(found.some(({ name }) => name.name === worker.name), "it registered itself");

      const keeper = await platform.create(`keeper-${language}`, new GuestAgent(await guestModule(`keeper-${language}`), { storage }));
      await boss.ask({ performative: "request", receivers: keeper.aid, content: term("note", language, "was here") });
      assert.deepEqual((await boss.ask({ performative: "request", receivers: keeper.aid, content: term("look", "rust") })).content, term("kept", { atom: "look" }, "was here"));

      // Waits within its calls, and stays: it has no way to other nodes.
      const traveller = await platform.create(`traveller-${language}`, new GuestAgent(await guestModule(`traveller-${language}`)));
      const [one, other] = await Promise.all([[], ["n2", "n3"]].map((nodes) => boss.ask({ performative: "request", receivers: traveller.aid, content: term("tour", nodes) })));
      assert.deepEqual(one?.content, other?.content);

      // Messages to a suspended agent wait. A state continues under another name.
      const counter = await platform.create(`counter-${language}`, new GuestAgent(await guestModule(`counter-${language}`)));
      counter.suspend();
      boss.send({ performative: "inform", receivers: counter.aid });
      const later = boss.ask({ performative: "query-ref", receivers: counter.aid });
      counter.resume();
      assert.equal((await later).content, 1n);
      const twin = await platform.create(`twin-${language}`, new GuestAgent(counter.module, { state: counter.snapshot() }));
      assert.equal((await boss.ask({ performative: "query-ref", receivers: twin.aid })).content, 1n);

      // A failing agent ends with its reason. One that fails at once never exists.
      const villain = await platform.create(`villain-${language}`, new GuestAgent(await GuestModule.compile(failing())));
      villain.onError = () => undefined;
      boss.send({ performative: "request", receivers: villain.aid });
      assert.match(await villain.ended, /^failed: its call returned 7/);
      await assert.rejects(platform.create("nobody", new GuestAgent(counter.module, { state: Uint8Array.of(9, 9) })), /not a state/);
      await platform.create("nobody").then((agent) => agent.end());

      await boss.ams.kill(worker.aid).catch((error: unknown) => assert.ok(error instanceof Error));
      const { aid } = worker;
      await worker.end();
      await assert.rejects(boss.ask({ performative: "request", receivers: aid, content: term("sum", [1n]) }), FailureError);
    }
  } finally {
    await platform.close();
    society.stop();
  }
});

test("durable guest handles each message once", { skip: WITHOUT_GUESTS || WITHOUT_NODE, timeout: 120_000 }, async () => {
  const society = await Society.of({ fern: "" });
  const begin = (): ReturnType<typeof connect> => connect(`tcp://${society.address}`, { token: TOKEN, leaseMs: 1000 });
  const platform = await begin();
  try {
    const boss = await platform.create("boss");
    for (const name of ["counter-c", "counter-rust", "worker-assemblyscript"]) {
      const module = await guestModule(name);
      const keep = { onLeave: "wait", code: await module.codeName(`${name}.wasm`) } as const;
      const isWorker = name.startsWith("worker");
      const count = async (): Promise<unknown> => {
        const asked = isWorker ? { performative: "request", content: term("sum", [1n]) } : { performative: "query-ref" };
        const { content } = await boss.ask({ ...asked, receivers: name }, { timeoutMs: 20_000 });
        return isTerm(content, "sum", 2) ? content.args[1] : content;
      };
      const tell = (): void => void (isWorker || boss.send({ performative: "inform", receivers: name }));
      const first = await begin();
      await first.create(name, new GuestAgent(module), keep);
      tell();
      assert.equal(await count(), 1n, name);
      await first.close();
      // Messages wait meanwhile.
      tell();
      const second = await begin();
      await second.create(name, new GuestAgent(module), keep);
      assert.equal(await count(), 2n, name);
      assert.equal((await boss.df.search({ services: [{ name: "sums" }] })).length, isWorker ? 1 : 0);
      await second.close();
      const third = await begin();
      await assert.rejects(third.create(name, new GuestAgent(await guestModule("traveller-c")), keep), /its saved state belongs to wasm/);
      await third.close();
      // Nothing was lost.
      const fourth = await begin();
      await fourth.create(name, new GuestAgent(module), keep);
      assert.equal(await count(), isWorker ? 3n : 2n, name);
      await fourth.close();
    }
  } finally {
    await platform.close();
    society.stop();
  }
});

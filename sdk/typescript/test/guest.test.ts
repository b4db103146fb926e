/** Test of WebAssembly agents in JavaScript: encodings, the examples in three languages, states. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { Aid } from "../src/acl/aid.js";
import { DecodeError } from "../src/acl/errors.js";
import { messageFromJson, valueFromJson } from "../src/acl/json.js";
import type { Message } from "../src/acl/message.js";
import { isTerm, plain, term, type Value } from "../src/acl/value.js";
import { Guest, GuestAgent, GuestModule, ModuleError, GuestStorage, type Answer, type HopResult, type Outcome, type Question, type Surroundings } from "../src/guest.js";
import { newCallState, readState, writeState } from "../src/guest/call-state.js";
import { Input, Output } from "../src/guest/bytes.js";
import { ModuleReader } from "../src/guest/binary.js";
import { CallContext } from "../src/guest/call-context.js";
import { applyChanges, InitialMemory } from "../src/guest/image.js";
import { importsOf } from "../src/guest/imports.js";
import { messageFrame, readMessage, readTemplate } from "../src/guest/frame.js";
import { compress, decompress } from "../src/guest/lz4.js";
import { pack, unpack } from "../src/guest/packing.js";
import { readValue, valueBytes } from "../src/guest/value.js";
import { guestModule, GUESTS, lacking, LANGUAGES, WITHOUT_GUESTS } from "./guests.js";
import { repository } from "./vectors.js";

interface Vectors {
  readonly values: readonly { readonly name: string; readonly value: unknown; readonly bytes: string }[];
  readonly messages: readonly { readonly name: string; readonly message: Record<string, unknown>; readonly bytes: string }[];
  readonly templates: readonly { readonly name: string; readonly template: Record<string, unknown>; readonly bytes: string }[];
  readonly malformed: readonly { readonly name: string; readonly bytes: string }[];
}

const vectors = JSON.parse(readFileSync(join(repository(), "conformance/guest/frames.json"), "utf8")) as Vectors;
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("missing guests are named with their build command", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-guests-"));
  context.after(() => rmSync(folder, { recursive: true }));
  assert.match(lacking(folder) || "", /^counter-rust, .*worker-c.* are not built: make guests$/);
  const guests = fileURLToPath(new URL("guests.js", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [guests], { env: { ...process.env, WHIMBREL_GUESTS: folder, WHIMBREL_REQUIRED: "1" }, encoding: "utf8", timeout: 60_000 });
  assert.ok(status === 1 && stderr.includes("make guests"), stderr);
});

test("values and messages match conformance/guest", () => {
  for (const { name, value, bytes } of vectors.values) {
    assert.equal(hexOf(valueBytes(valueFromJson(value))), bytes, name);
    assert.equal(hexOf(valueBytes(readValue(bytesOf(bytes)))), bytes, name);
  }
  for (const { name, message, bytes } of vectors.messages) {
    const said = messageFromJson(message);
    assert.equal(hexOf(messageFrame(said, "home")), bytes, name);
    if (said.receivers.length > 0) assert.deepEqual(readMessage(bytesOf(bytes), said.sender), said, name);
  }
  for (const { name, bytes } of vectors.malformed) assert.throws(() => readMessage(bytesOf(bytes), Aid.NOBODY), /at byte/, name);
});

test("guest templates match the vectors", () => {
  const all = vectors.messages.map(({ message }) => messageFromJson(message));
  for (const { name, template, bytes } of vectors.templates) {
    const fits = readTemplate(bytesOf(bytes), "home");
    const wanted = all.filter((message) => fits(message));
    if (Object.keys(template).length === 0) assert.equal(wanted.length, all.length, name);
    if (typeof template["performative"] === "string") assert.ok(wanted.every(({ performative }) => performative === template["performative"]), name);
  }
});

test("packed bytes unpack, others are refused", () => {
  const samples = [new Uint8Array(), new Uint8Array(5), new Uint8Array(100_000), Uint8Array.from({ length: 5000 }, (_, at) => (at * at) >> 3), Uint8Array.from({ length: 3000 }, (_, at) => at % 7)];
  for (const bytes of samples) assert.deepEqual(decompress(compress(bytes), bytes.length), bytes);
  assert.ok(compress(new Uint8Array(100_000)).length < 500);
  assert.throws(() => decompress(Uint8Array.of(0x10), 1), /not a state/);
  assert.throws(() => decompress(Uint8Array.of(0x1f, 7, 9, 0), 20), /not a state/);
  assert.throws(() => decompress(compress(new Uint8Array(100)), 99), /not a state/);
});

test("packing and changes are lossless", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.integer({ min: 1, max: 5 }), (bytes, times) => {
      const long = Uint8Array.from({ length: bytes.length * times }, (_, at) => bytes[at % bytes.length] ?? 0);
      assert.deepEqual(decompress(compress(long), long.length), long);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.tuple(fc.nat(1023), fc.nat(255)), { maxLength: 60 }), fc.nat(1023), (initial, changes, from) => {
      const memory = new Uint8Array(1024);
      memory.set(initial);
      const first = new InitialMemory(memory);
      const copy = memory.slice();
      for (const [at, byte] of changes) memory[at] = byte;
      const out = new Output();
      first.writeChanges(memory, from, out);
      applyChanges(copy, new Input(out.take()));
      assert.deepEqual(copy.subarray(from), memory.subarray(from));
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      for (const reads of [() => readValue(noise), () => readMessage(noise, Aid.NOBODY), () => readTemplate(noise, "home"), () => readState(noise, 0), () => decompress(noise, 500), () => unpack(new Input(noise), 500)]) {
        try {
          reads();
        } catch (error) {
          assert.ok(error instanceof DecodeError, String(error));
        }
      }
    }),
  );
});

test("packing equals that of nodes", () => {
  const packed = (bytes: Uint8Array): Uint8Array => {
    const out = new Output();
    pack(bytes, out);
    return out.take();
  };
  const unpacked = (bytes: Uint8Array, max = 1000): Uint8Array => unpack(new Input(bytes), max).slice();
  // Nodes have the same vectors (`packing.rs`).
  assert.deepEqual([...packed(Uint8Array.of())], [0]);
  assert.deepEqual([...packed(Uint8Array.of(0x55))], [0, 0x55]);
  assert.deepEqual([...packed(Uint8Array.of(0, 1, 2, 3, 4))], [10, 0x28, 0x81, 0xc6]);
  assert.deepEqual([...packed(new Uint8Array(200).fill(7)).slice(0, 2)], [0x91, 3], "LZ4");
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const mostly = Uint8Array.from({ length: 1000 }, (_, at) => (at % 4 === 0 ? all[at % 256] as number : 0));
  for (const bytes of [all, mostly]) assert.deepEqual(unpacked(packed(bytes)), bytes);
  for (const bytes of [[], [1, 0], [10, 0x28, 0x81], [10, 0x28, 0x81, 0xc7], [10, 0x28, 0x81, 0xc6, 0], [8, 0x28, 0x81, 0xc6]]) {
    assert.throws(() => unpacked(Uint8Array.from(bytes)), /not a state/, String(bytes));
  }
  assert.throws(() => unpacked(packed(mostly), 999), /not a state/);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      assert.deepEqual(unpacked(packed(bytes)), bytes);
    }),
  );
});

test("call state keeps remaining times", () => {
  const callState = { ...newCallState(Uint8Array.of(1)), isStarted: true, held: Uint8Array.of(1, 2), unwindAt: 65536, recalls: 300, life: 2n ** 64n - 6n, lastWords: Uint8Array.of(6, 5), provenance: { owner: "boss", node: "n1", ancestor: "scout" } };
  const call = { type: "handle", ptr: 16, len: 300 } as const;
  const image = { morePages: 2, changes: new Uint8Array(200).fill(7) };
  const state = writeState({ ...callState, timers: [{ at: 50, tag: 8n }, { at: 200, tag: 7n }, { at: Infinity, tag: -3n }], suspended: { call, wait: { type: "message", template: Uint8Array.of(255), until: 600 } } }, 100, image);
  assert.ok(state.length < 150, "the state is packed");
  const back = readState(state, 1000);
  assert.deepEqual(back, {
    callState: { ...callState, timers: [{ at: 1000, tag: 8n }, { at: 1100, tag: 7n }, { at: Infinity, tag: -3n }], suspended: { call, wait: { type: "message", template: Uint8Array.of(255), until: 1500 } } },
    image,
  });
});

/** Surroundings of guests, on a clock of their own. */
class Place implements Surroundings {
  readonly platform = "test";
  readonly sent: Message[] = [];
  readonly printed: string[] = [];
  readonly asked: Question[] = [];
  readonly storage: GuestStorage | undefined = new GuestStorage();
  lifetime: number | undefined;
  clock = 0;
  answer: (question: Question) => Answer = () => ({ code: 0 });

  constructor(
    public node = "n1",
    readonly name = "guest",
  ) {}

  now(): number {
    return this.clock;
  }
  wall(): number {
    return 1_700_000_000_000;
  }
  random(room: Uint8Array): void {
    room.fill(4);
  }
  send(message: Message): void {
    this.sent.push(message);
  }
  print(text: string): void {
    this.printed.push(text);
  }
  log(): void {}
  setLifetime(ms: number): void {
    this.lifetime = ms;
  }
  async ask(question: Question): Promise<Answer> {
    this.asked.push(question);
    await Promise.resolve();
    return this.answer(question);
  }
}

/** An agent that moves between places. Only its state moves along. */
class Traveller {
  guest: Guest;
  hops = 0;
  isOver = false;
  readonly clones: Traveller[] = [];

  constructor(
    readonly module: GuestModule,
    readonly place = new Place(),
    from: Uint8Array | Record<string, Value> = {},
    readonly closed: string[] = [],
  ) {
    this.guest = new Guest(module, place, from);
  }

  async run(): Promise<void> {
    for (;;) {
      const outcome = await this.guest.run();
      this.isOver = outcome.type === "stopped";
      if (outcome.type !== "hop") return;
      const { to, clone } = outcome.hop;
      const from = this.place.node;
      this.guest.lighten();
      if (this.closed.includes(to)) this.guest.hopped({ type: "stayed", to, why: "closed" });
      else if (clone === undefined) this.move({ type: "arrived", from }, to);
      else {
        const name = clone || `guest-${this.clones.length + 1}`;
        const copy = new Traveller(this.module, new Place(to, name), this.guest.snapshot(), this.closed);
        copy.guest.hopped({ type: "is-clone", from, of: this.place.name });
        this.clones.push(copy);
        this.guest.hopped({ type: "cloned", clone: name });
      }
    }
  }

  move(news: HopResult, to: string): void {
    const state = this.guest.snapshot();
    const left = this.guest.waiting;
    this.place.node = to;
    this.guest = new Guest(this.module, this.place, state);
    for (const message of left) this.guest.deliver(message);
    this.guest.hopped(news);
    this.hops++;
  }

  /** Lets time pass until something is due. */
  async wait(): Promise<void> {
    this.place.clock = Math.max(this.place.clock, this.guest.dueAt);
    await this.run();
  }

  async tell(content: Value, performative = "request"): Promise<void> {
    const message = { performative, sender: Aid.of("amy"), receivers: [Aid.of(this.place.name)], content, replyWith: "r1" };
    assert.ok(this.guest.deliver(message));
    await this.run();
  }

  /** Returns its only message since the last call. */
  answer(): Value {
    assert.equal(this.place.sent.length, 1);
    const [{ receivers, inReplyTo, content }] = this.place.sent.splice(0) as [Message];
    assert.equal(receivers.join(), "amy@test");
    assert.equal(inReplyTo, "r1");
    return content;
  }
}

const ints = (...numbers: number[]): Value => numbers.map(BigInt);
const options = { skip: WITHOUT_GUESTS };
for (const language of LANGUAGES) {
  test(`worker in ${language} sums and registers`, options, async () => {
    const worker = new Traveller(await guestModule(`worker-${language}`));
    await worker.run();
    assert.deepEqual(worker.place.asked, [{ what: "register", about: ["sums", "arithmetic"] }]);
    await worker.tell(term("sum", ints(1, 2, 3)));
    assert.deepEqual(worker.answer(), term("sum", 6n, 1n));
    await worker.tell(term("sum", ints(4)));
    assert.deepEqual(worker.answer(), term("sum", 4n, 2n));
  });

  test(`counter in ${language} continues from its state`, options, async () => {
    const module = await guestModule(`counter-${language}`);
    let counter = new Traveller(module);
    const counts: Value[] = [];
    for (let turn = 0; turn < 4; turn++) {
      await counter.tell("go", "inform");
      await counter.tell(null, "query-ref");
      counts.push(counter.answer());
      const state = counter.guest.snapshot();
      assert.ok(state.length < 10_000, `${state.length} bytes`);
      counter = new Traveller(module, new Place("n1"), state);
      assert.deepEqual(counter.guest.snapshot(), state, "the next snapshot is equal");
    }
    assert.deepEqual(counts, [1n, 2n, 3n, 4n]);
  });

  test(`keeper in ${language} finds its storage`, options, async () => {
    const module = await guestModule(`keeper-${language}`);
    const keeper = new Traveller(module);
    const told = async (content: Value): Promise<Value> => {
      await keeper.tell(content);
      return keeper.answer();
    };
    const kept = (what: string, said: Value): Value => term("kept", { atom: what }, said);
    assert.deepEqual(await told(term("look", "a")), kept("look", { atom: "nothing" }));
    assert.deepEqual(await told(term("note", "b", "two")), kept("note", { atom: "done" }));
    assert.deepEqual(await told(term("note", "a", "one")), kept("note", { atom: "done" }));
    assert.deepEqual(await told(term("look", "b")), kept("look", "two"));
    assert.deepEqual(await told(term("list", "")), kept("list", ["a", "b"]));
    assert.deepEqual(await told(term("forget", "a")), kept("forget", { atom: "done" }));
    assert.deepEqual(await told(term("list", "")), kept("list", ["b"]));
    const stranger = new Traveller(module, Object.assign(new Place(), { storage: undefined }));
    await stranger.tell(term("note", "a", "one"));
    assert.match(String(stranger.answer()), /does not grant storage/);
  });

  test(`traveller in ${language} moves in its recursion`, options, async () => {
    const module = await guestModule(`traveller-${language}`);
    const tour = async (nodes: readonly string[], closed: string[] = []): Promise<readonly [Value, number]> => {
      const traveller = new Traveller(module, new Place(), {}, closed);
      await traveller.tell(term("tour", nodes));
      return [traveller.answer(), traveller.hops];
    };
    const [unmoved] = await tour([]);
    assert.ok(isTerm(unmoved, "sum", 3));
    const [sum] = unmoved.args;
    const nodes = Array.from({ length: 100 }, (_, at) => `n${2 - (at % 2)}`);
    assert.deepEqual(await tour(nodes), [term("sum", sum as Value, 100n, "n1"), 100]);
    assert.deepEqual(await tour(["n2", "n3", "n4"], ["n3", "n4"]), [term("sum", sum as Value, 1n, "n2"), 1]);
  });

  test(`scout in ${language} avoids dead nodes and returns`, options, async () => {
    const scout = new Traveller(await guestModule(`scout-${language}`), new Place(), {}, ["n8", "n9"]);
    await scout.tell(term("tour", [["n1"], ["n9", "n2"], ["n8"], ["n3"]], 1000n, 7n));
    for (let turns = 0; !scout.place.sent.some(({ content }) => isTerm(content, "toured")); turns++) {
      assert.ok(turns < 20);
      await scout.wait();
    }
    const last = scout.place.sent.at(-1)?.content ?? null;
    assert.deepEqual(plain(last), { functor: "toured", args: [["0 on n1", "1 on n2", "3 on n3"], ["n9", "n8"], "done", "n1"] });
    assert.deepEqual([scout.hops, scout.guest.dueAt], [3, Infinity]);
  });

  test(`minion in ${language} reports and ends`, options, async () => {
    const scout = new Traveller(await guestModule(`scout-${language}`), new Place(), {}, ["n9"]);
    await scout.tell(term("send", ["n9", "n22"], 5000n, 7n));
    const [minion] = scout.clones as [Traveller];
    await minion.run();
    await minion.wait();
    assert.ok(minion.isOver && !scout.isOver);
    assert.deepEqual([minion.place.lifetime, scout.place.lifetime], [5000, undefined]);
    const [report] = minion.place.sent as [Message];
    assert.ok(scout.guest.deliver({ ...report, sender: Aid.of(minion.place.name) }));
    await scout.run();
    assert.deepEqual(plain(scout.answer()), { functor: "heard", args: [3, "n1"] });
  });
}

test("nomad moves in its loop unprepared", options, async () => {
  const module = await guestModule("nomad-rust");
  assert.ok(!module.suspends);
  const nomad = new Traveller(module);
  await nomad.tell(term("tour", ["n2", "n3", "n1"]));
  const answer = nomad.answer();
  assert.ok(isTerm(answer, "sum", 3));
  assert.deepEqual([answer.args[1], answer.args[2], nomad.hops], [3n, "n1", 3]);
});

test("recalled guest learns that it stayed", options, async () => {
  const module = await guestModule("shuttle-c");
  const shuttle = new Traveller(module, new Place(), {}, ["n9"]);
  await shuttle.tell(term("weak", "n1", "n2", 2n));
  assert.deepEqual(shuttle.place.sent.map(({ content }) => content), ["back", "back"]);
  assert.equal(shuttle.hops, 4);
});

test("deep recursion fits the unwind area", options, async () => {
  const shuttle = new Traveller(await guestModule("shuttle-c"));
  await shuttle.tell(term("strong", "n1", "n2", 2n, 2000n));
  assert.deepEqual(shuttle.place.sent.map(({ content }) => content), ["back", "back", "done"]);
  assert.equal(shuttle.hops, 4);
});

test("tampered states are refused or end the agent", options, async () => {
  const module = await guestModule("counter-rust");
  const counter = new Traveller(module);
  for (let turn = 0; turn < 3; turn++) await counter.tell("go", "inform");
  const state = counter.guest.snapshot();
  for (let at = 0; at < state.length; at++) {
    for (const byte of [0, 1, 127, 255]) {
      const wrong = state.slice();
      wrong[at] = byte;
      try {
        const other = new Traveller(module, new Place(), wrong);
        await other.tell("go");
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }
  }
  for (let length = 1; length < state.length; length++) {
    try {
      new Traveller(module, new Place(), state.slice(0, length));
    } catch (error) {
      assert.match(String(error), /not a state/);
    }
  }
});

// ---- Modules written for the tests, in WebAssembly's bytes

const leb = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)]);
const vec = (items: readonly (readonly number[])[]): number[] => [...leb(items.length), ...items.flat()];
const text = (name: string): number[] => vec([...Buffer.from(name)].map((byte) => [byte]));
const section = (id: number, body: readonly number[]): number[] => [id, ...leb(body.length), ...body];

const [I, L] = [0x7f, 0x7e];

interface Parts {
  readonly memory?: readonly number[];
  /** Body of its `whim_stop`, if it has one. */
  readonly stop?: readonly number[];
  /** Parameters of its import. */
  readonly takes?: readonly number[];
  /** Types besides those of its functions. */
  readonly types?: readonly (readonly number[])[];
}

/**
 * Builds a module with one import of `(i32, i32) -> i32`, whose `whim_handle` has this body. Its memory has `home` at
 * 16.
 */
function moduleOf(imported: string, body: readonly number[], { memory = [0, 1], stop, takes = [I, I], types: more = [] }: Parts = {}): Uint8Array<ArrayBuffer> {
  const i32 = (n: number): number[] => [0x41, ...leb(n)];
  const types = [[0x60, ...leb(takes.length), ...takes, 1, I], [0x60, 0, 1, I], [0x60, 1, I, 1, I], [0x60, 2, I, I, 1, I], [0x60, 0, 0], ...more];
  const code = [[...i32(1)], [...i32(512), 0x0f], [...body], ...(stop ? [stop] : [])].map((one) => {
    const whole = [0, ...one, 0x0b];
    return [...leb(whole.length), ...whole];
  });
  const exports: [string, number, number][] = [["memory", 2, 0], ["whim_abi", 0, 1], ["whim_inbox", 0, 2], ["whim_handle", 0, 3]];
  if (stop) exports.push(["whim_stop", 0, 4]);
  const parts = [
    section(1, vec(types)),
    section(2, vec([[...text("whim"), ...text(imported), 0, 0]])),
    section(3, vec([[1], [2], [3], ...(stop ? [[4]] : [])])),
    section(5, [1, ...memory]),
    section(7, vec(exports.map(([name, kind, index]) => [...text(name), kind, ...leb(index)]))),
    section(10, vec(code)),
    section(11, vec([[0, ...i32(16), 0x0b, ...text("home")]])),
  ];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...parts.flat()]);
}

const asks = [0x41, 16, 0x41, 4, 0x10, 0];

test("repeated call has its effects once", async () => {
  // memory[64] += 1; exists("home"); memory.grow(1); exists("home"); answers with memory[64] - 1.
  const [count, load] = [[0x41, 0xc0, 0], [0x28, 2, 0]];
  const body = [count, count, load, [0x41, 1, 0x6a, 0x36, 2, 0], asks, [0x1a, 0x41, 1, 0x40, 0, 0x1a], asks, [0x1a], count, load, [0x41, 1, 0x6b]].flat();
  const guest = new Traveller(await GuestModule.compile(moduleOf("exists", body)));
  guest.place.answer = () => ({ code: 1 });
  await guest.tell("go");
  assert.equal(guest.place.asked.length, 2);
  const again = new Guest(guest.module, guest.place, guest.guest.snapshot());
  again.deliver({ performative: "inform", sender: Aid.of("amy"), receivers: [], content: null });
  await assert.rejects(again.run(), /its call returned 1/, "the agent was here before");
});

const toldOf = (performative: string): Message => ({ performative, sender: Aid.of("amy"), receivers: [], content: null });

test("message during a query is handled later", async () => {
  const guest = new Traveller(await GuestModule.compile(moduleOf("exists", [...asks, 0x1a, ...asks])));
  const done: number[] = [];
  const provenance = { owner: "boss", node: "n1", ancestor: "" };
  guest.place.answer = () => {
    const { length } = guest.place.asked;
    if (length > 2) return { code: 0 };
    guest.guest.deliver(toldOf("inform"), () => done.push(length));
    guest.guest.recalled();
    guest.guest.provenance = provenance;
    return { code: 0 };
  };
  await guest.tell("go");
  assert.deepEqual([done, guest.place.asked.length, guest.guest.waiting], [[1, 2], 6, []]);
  const { callState } = readState(guest.guest.snapshot(), 0);
  assert.deepEqual([callState.recalls, callState.provenance], [2, provenance]);
});

test("last words may query, none after stop or failure", async () => {
  const stop = [...asks, 0x1a];
  const { guest, place } = new Traveller(await GuestModule.compile(moduleOf("exists", asks, { stop })));
  await guest.run();
  guest.deliver(toldOf("inform"));
  const late: Promise<Outcome>[] = [];
  place.answer = () => {
    if (place.asked.length === 2) {
      guest.deliver(toldOf("request"));
      late.push(guest.run());
    }
    return { code: 0 };
  };
  // One call waits for an answer, then the last one does. A turn meanwhile reports the end.
  const [turn, stopping] = [guest.run(), guest.stop()];
  assert.equal((await turn).type, "rest");
  await stopping;
  assert.deepEqual(await Promise.all(late), [{ type: "stopped" }]);
  assert.deepEqual([place.asked.length, guest.waiting.map(({ performative }) => performative)], [2, ["request"]]);

  const failing = new Traveller(await GuestModule.compile(moduleOf("exists", [...asks, 0x1a, 0x41, 7], { stop })));
  failing.guest.deliver(toldOf("inform"));
  const failed = assert.rejects(failing.guest.run(), /its call returned 7/);
  await failing.guest.stop();
  await failed;
  assert.equal(failing.place.asked.length, 1);
});

/** Creates an agent on a platform that never answers. */
async function seated(module: GuestModule, printed: string[] = [], sent: Message[] = []): Promise<GuestAgent> {
  const agent = new GuestAgent(module, { onPrint: (line) => printed.push(line) });
  const nothing = (): void => undefined;
  agent.bind({ aid: Aid.of("guest@test"), saver: undefined, send: (message: Message) => void sent.push(message), ask: () => nothing, end: () => agent.over("finished"), handled: nothing, certify: () => Promise.reject(new Error("nobody certifies")), fetchCode: () => Promise.reject(new Error("nobody has code")) });
  await agent.setup();
  agent.settle();
  return agent;
}

test("agent ended twice speaks last words once", async () => {
  const printed: string[] = [];
  const agent = await seated(await GuestModule.compile(moduleOf("print", asks, { stop: [...asks, 0x1a] })), printed);
  agent.deliver(toldOf("inform"), 8, 1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(printed, ["home"]);
  const ends = [agent.end(), agent.end()];
  agent.deliver(toldOf("inform"), 8, 2);
  await Promise.all(ends);
  await agent.end();
  assert.deepEqual([printed, await agent.ended], [["home", "home"], "finished"]);
});

test("failed and ended agents speak last words", async () => {
  // The message that it was given is sent if it fails.
  const says = [0x20, 0, 0x20, 1, 0x10, 0];
  for (const [body, why] of [[[...says, 0x1a, 0x00], /unreachable/], [says, /^it was ended$/]] as const) {
    const sent: Message[] = [];
    const agent = await seated(await GuestModule.compile(moduleOf("on_failure", body)), [], sent);
    agent.deliver({ ...toldOf("inform"), receivers: [Aid.of("probe@test")] }, 8, 1);
    await new Promise((resolve) => setImmediate(resolve));
    await agent.end();
    assert.equal(sent.length, 1);
    assert.match(String(sent[0]?.content), why);
  }
});

test("lifetime may exceed a JavaScript timer", async (test) => {
  const day = 24 * 3_600_000;
  // i64.const, of 40 days in milliseconds.
  const body = [0x42, ...leb(40 * day), 0x10, 0];
  const agent = await seated(await GuestModule.compile(moduleOf("set_lifetime", body, { takes: [L] })));
  let now = 0;
  test.mock.timers.enable({ apis: ["setTimeout"] });
  test.mock.method(performance, "now", () => now);
  agent.deliver(toldOf("inform"), 8, 1);
  const pass = async (ms: number): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    now += ms;
    test.mock.timers.tick(ms);
  };
  for (let days = 0; days < 39; days++) await pass(day);
  await pass(day / 2);
  assert.ok(!agent.signal.aborted);
  await pass(day);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(agent.signal.aborted);
});

test("time beyond 64 bits never comes", () => {
  const place = Object.assign(new Place(), { clock: 5_000_000 });
  const context = new CallContext(place, newCallState(), () => new Uint8Array());
  const { timer, timer_left: left } = importsOf(context, () => ({ memory: new WebAssembly.Memory({ initial: 1 }) })) as unknown as Record<"timer" | "timer_left", (...args: bigint[]) => number | bigint>;
  timer(2n ** 63n - 1n, 7n);
  timer(2n ** 53n, 8n);
  // Nodes answer the same, because they have 64 bits for microseconds.
  assert.equal(left(7n), 18_446_744_073_704_552n);
  assert.equal(left(8n), 2n ** 53n);
  const back = readState(writeState(context.callState, place.clock, { morePages: 0, changes: new Uint8Array() }), 0).callState;
  assert.deepEqual(back.timers, [{ at: 2 ** 53 * 1000, tag: 8n }, { at: Infinity, tag: 7n }]);
  const far = new Output().byte(4).byte(2).varint(1).varint(2n ** 64n - 1n).u64(9n).varint(0).varint(0).take();
  assert.deepEqual(readState(far, 4096).callState.timers, [{ at: Infinity, tag: 9n }]);
});

test("module with other types is refused", async () => {
  // A struct whose first field has this type would be read as a function of one parameter, without results.
  const struct = [0x5f, 1, 0x7f, 0];
  await assert.rejects(GuestModule.compile(moduleOf("exists", [0x41, 0], { types: [struct] })), /unsupported module/);
  // This one would be read as a function of millions of parameters.
  assert.throws(() => new ModuleReader(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2)).many(() => 0), ModuleError);
});

test("false lengths reserve no memory", async () => {
  const script = `
    import { parentPort } from "node:worker_threads";
    import { readValue } from ${JSON.stringify(new URL("../src/guest/value.js", import.meta.url).href)};
    const bytes = new Uint8Array(1 << 20);
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < 90 * 5; at += 5) {
      bytes[at] = 8;
      view.setUint32(at + 1, bytes.length - at - 5, true);
    }
    bytes.fill(255, 90 * 5);
    try {
      readValue(bytes);
    } catch (error) {
      parentPort.postMessage(error.message);
    }`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), { resourceLimits: { maxOldGenerationSizeMb: 64 } });
  const said = await new Promise<string>((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  assert.match(said, /unknown kind of value/);
});

test("unsuitable modules are refused with a reason", async () => {
  const compile = (bytes: Uint8Array<ArrayBuffer>): Promise<GuestModule> => GuestModule.compile(bytes);
  await assert.rejects(compile(Uint8Array.of(1, 2, 3)), ModuleError);
  await assert.rejects(compile(moduleOf("format_disk", [0x41, 0])), /imports `whim.format_disk`/);
  await assert.rejects(compile(moduleOf("move_to", [0x41, 0])), /was not prepared/);
  await assert.rejects(compile(moduleOf("exists", [0x41, 0], { memory: [0, ...leb(2000)] })), /quota memory_bytes/);
  await assert.rejects(compile(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)), /does not export `memory`/);
});

test("bad address or too much memory ends guest", async () => {
  const outside = new Traveller(await GuestModule.compile(moduleOf("exists", [0x41, 0x7f, 0x41, 4, 0x10, 0])));
  await assert.rejects(outside.tell("go"), /outside its memory/);
  // It has two pages at most: -1 is the engine's answer.
  const grows = new Traveller(await GuestModule.compile(moduleOf("exists", [0x41, 2, 0x40, 0]), { memoryBytes: 2 << 16 }));
  await assert.rejects(grows.tell("go"), /its call returned -1/);
});

test("all examples are admitted", options, async () => {
  assert.ok(GUESTS.length >= 20, GUESTS.join(" "));
  for (const name of GUESTS) await guestModule(name);
});

/** Property tests of the codecs: everything written can be read, and invalid bytes are refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Aid } from "../src/acl/aid.js";
import { Decoder, decodeBody, decodeMessage, decodeValue, Encoder, encodeBody, encodeMessage, encodeValue } from "../src/acl/compact/index.js";
import { DecodeError } from "../src/acl/errors.js";
import { hex, messageFromJson, messageToJson, valueFromJson, valueToJson } from "../src/acl/json.js";
import { message, type Message } from "../src/acl/message.js";
import { compareValues } from "../src/acl/order.js";
import { atom, container, map, openList, structure, term, type Value, type Variable } from "../src/acl/value.js";
import { compact } from "../src/compact.js";
import { FrameReader, FrameWriter } from "../src/session/frames.js";

const RUNS = { numRuns: Number(process.env["RUNS"] ?? 400) };

/** Texts that columns and dictionaries treat differently. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }).map((some) => some.replace(/\p{Surrogate}/gu, "?")),
  fc.constantFrom("", "kitchen", "fipa-request", "agent-identifier", "é", "007", "日本"),
  fc.integer({ min: 0, max: 200 }).map((n) => `item-${n}`),
  fc.integer({ min: 0, max: 120 }).map((n) => `s${String(n).padStart(3, "0")}.log`),
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }).map(String),
);
const name = fc.oneof(fc.constantFrom("f", "point", "kitchen", "source", "a", "name", "df-agent-description", "services"), text);
const int = fc.oneof(fc.bigInt({ min: -300n, max: 70_000n }), fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }));
const double = fc.oneof(fc.double(), fc.integer({ min: -100_000, max: 100_000 }).map((n) => n / 100), fc.integer(), fc.float());
const PLAIN = { noNullPrototype: true } as const;
const variable: fc.Arbitrary<Variable> = fc.record({ var: name, slot: fc.nat() }, PLAIN);
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 80 }),
  fc.array(fc.integer({ min: 100, max: 105 }), { minLength: 60, maxLength: 200 }).map((some) => Uint8Array.from(some)),
);

const { value } = fc.letrec<{ value: Value }>((tie) => {
  const inner = tie("value");
  const fields = fc.array(fc.tuple(name, inner), { maxLength: 4 });
  const several = (one: fc.Arbitrary<Value>): fc.Arbitrary<Value> => fc.array(one, { minLength: 2, maxLength: 30 });
  const point = fc.tuple(int, double, fc.option(text, { nil: undefined })).map(([x, y, label]) => ({
    record: "point",
    fields: [["x", x], ["y", y], ...(label === undefined ? [] : [["label", label] as const])] as const,
  }));
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom<Value>(null, true, false),
      int,
      double,
      text,
      bytes,
      name.map(atom),
      variable,
      several(int),
      several(double),
      several(text),
      several(name.map(atom)),
      several(bytes),
      several(fc.boolean()),
      several(fc.option(int)),
      several(point),
      several(fc.tuple(int, int).map((args) => term("at", ...args))),
      several(fc.dictionary(name, int, { maxKeys: 3 }).map((object) => map(object))),
      fc.array(inner, { maxLength: 5 }),
      fc.tuple(fc.array(inner, { minLength: 1, maxLength: 3 }), variable).map(([items, tail]) => openList(items, tail)),
      fc.tuple(name, fc.array(inner, { maxLength: 4 })).map(([functor, args]) => term(functor, ...args)),
      fc
        .record({ term: name, args: fc.array(inner, { maxLength: 3 }), negated: fc.boolean(), annots: fc.array(inner, { maxLength: 3 }), more: fc.option(variable), namespace: fc.option(name) })
        .map(({ more, namespace, ...parts }) =>
          structure({ ...parts, ...(more && { annotTail: more }), ...(namespace !== null && namespace !== "default" && { namespace }) }),
        ),
      fc.array(fc.tuple(inner, inner), { maxLength: 4 }).map((pairs) => map(pairs)),
      fc.tuple(name, fields).map(([record, all]) => ({ record, fields: all })),
      fc.tuple(fc.constantFrom("map", "set", "queue", "priority-queue"), fc.array(inner, { maxLength: 2 })).map(([kind, items]) => container(kind, [...items, ...items])),
    ),
  };
});

const aid = fc.oneof(
  fc.constantFrom("amy", "bob@home", "df").map((one) => Aid.of(one)),
  fc.tuple(name, name, fc.array(text, { maxLength: 2 })).filter(([one, platform]) => one !== "" && (platform !== "" || !one.includes("@"))).map(([one, platform, addresses]) => new Aid(one, platform, { addresses })),
);
const optional = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const acl: fc.Arbitrary<Message> = fc
  .record({
    performative: fc.oneof(fc.constantFrom("inform", "askOne", "cfp"), name.filter((word) => word !== "")),
    sender: fc.oneof(aid, fc.constant(Aid.NOBODY)),
    receivers: fc.array(aid, { maxLength: 3 }),
    content: value,
    replyTo: fc.array(aid, { maxLength: 2 }),
    conversationId: optional(text),
    replyWith: optional(text),
    inReplyTo: optional(text),
    protocol: optional(name),
    language: optional(name),
    ontology: optional(name),
    encoding: optional(name),
    replyByMs: optional(fc.maxSafeNat()),
    user: optional(fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 2 })),
  })
  .map(({ sender, receivers, ...draft }) => ({
    ...(Object.fromEntries(Object.entries(message(draft)).filter(([, part]) => part !== undefined)) as unknown as Message),
    sender,
    receivers,
  }));

test("compact values survive, with one encoding", () => {
  fc.assert(
    fc.property(value, (some) => {
      const body = encodeBody(some);
      const read = decodeBody(body);
      assert.deepEqual(read, some);
      assert.equal(hex(encodeBody(read)), hex(body));
      assert.deepEqual(decodeValue(encodeValue(some)), some);
    }),
    RUNS,
  );
});

test("JSON values survive", () => {
  fc.assert(
    fc.property(value, (some) => {
      const json = valueToJson(some);
      const read = valueFromJson(JSON.parse(json));
      assert.equal(compareValues(read, some), 0);
      assert.equal(valueToJson(read), json);
    }),
    RUNS,
  );
});

test("order of values is total", () => {
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      assert.equal(compareValues(a, a), 0);
      assert.equal(Math.sign(compareValues(a, b)) + Math.sign(compareValues(b, a)), 0);
      const [x, y, z] = [a, b, c].sort(compareValues) as [Value, Value, Value];
      assert.ok(compareValues(x, y) <= 0 && compareValues(y, z) <= 0 && compareValues(x, z) <= 0);
    }),
    RUNS,
  );
});

test("messages survive alone and on a connection", () => {
  fc.assert(
    fc.property(fc.array(acl, { maxLength: 6 }), fc.integer({ min: 0, max: 5 }), (messages, remember) => {
      const [encoder, decoder] = [new Encoder(remember), new Decoder(remember)];
      for (const some of [...messages, ...messages]) {
        assert.deepEqual(decoder.decode(encoder.encode(some)), some);
        assert.deepEqual(decodeMessage(encodeMessage(some)), some);
        const json = messageToJson(some);
        assert.equal(messageToJson(messageFromJson(JSON.parse(json))), json);
      }
    }),
    { numRuns: RUNS.numRuns / 4 },
  );
});

/** Generates bytes with changes, cuts and insertions. */
const spoilt = (whole: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc.tuple(whole, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 3 })), { minLength: 1, maxLength: 4 })).map(([bytes_, changes]) => {
    const all = [...bytes_];
    for (const [at, byte, how] of changes) {
      const place = at % (all.length + 1);
      if (how === 0) all.splice(place, 1);
      else if (how === 1) all.splice(place, 0, byte);
      else all[Math.min(place, all.length - 1)] = byte;
    }
    return Uint8Array.from(all);
  });

/** Permits a {@link DecodeError}; any other error fails. */
function refusesOr<T>(read: () => T, check: (read: T) => void): void {
  let result: T;
  try {
    result = read();
  } catch (error) {
    if (error instanceof DecodeError) return;
    throw error;
  }
  check(result);
}

test("invalid bytes are refused, valid ones rewritten", () => {
  const document = fc.oneof(spoilt(value.map(encodeValue)), fc.uint8Array({ maxLength: 60 }));
  fc.assert(
    fc.property(document, (bytes_) => refusesOr(() => decodeValue(bytes_), (read) => assert.deepEqual(decodeValue(encodeValue(read)), read))),
    { numRuns: RUNS.numRuns * 5 },
  );
  fc.assert(
    fc.property(fc.oneof(spoilt(acl.map(encodeMessage)), fc.uint8Array({ maxLength: 60 })), (bytes_) =>
      refusesOr(() => decodeMessage(bytes_), (read) => assert.deepEqual(decodeMessage(encodeMessage(read)), read)),
    ),
    { numRuns: RUNS.numRuns * 2 },
  );
});

test("invalid frames are refused in both forms", () => {
  const frame = fc.tuple(fc.integer({ min: 0, max: 26 }), fc.uint8Array({ maxLength: 60 })).map(([kind, fields]) => Uint8Array.from([kind, ...fields]));
  fc.assert(fc.property(frame, (bytes_) => refusesOr(() => new FrameReader(compact, 4).read(bytes_), () => undefined)), { numRuns: RUNS.numRuns * 5 });
  const kinds = fc.constantFrom("hello", "welcome", "ack", "created", "ended", "message", "refused", "error", "bye", "save", "lacks", "code", "yield", "offer", "stays", "challenge", "proof", "__proto__", "constructor");
  const json = fc.tuple(kinds, fc.dictionary(fc.constantFrom("number", "agent", "received", "message", "code", "text", "name", "versions", "resume", "moves", "to", "bytes"), fc.jsonValue())).map(([type, members]) => JSON.stringify({ ...members, type }));
  fc.assert(fc.property(fc.oneof(json, fc.json(), fc.string()), (text_) => refusesOr(() => new FrameReader("json", 0).read(text_), () => undefined)), { numRuns: RUNS.numRuns * 5 });
});

test("frames of moves survive in both forms", () => {
  const [number, agent] = [fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 0, max: 63 })];
  const word = fc.string({ unit: "grapheme", maxLength: 20 });
  const plainObject = { noNullPrototype: true };
  const frame = fc.oneof(
    fc.record({ type: fc.constant("yield" as const), number, agent, to: word }, plainObject),
    fc.record({ type: fc.constant("offer" as const), number, name: word, code: word }, plainObject),
    fc.record({ type: fc.constant("proof" as const), signature: fc.uint8Array({ maxLength: 70 }) }, plainObject),
    fc.record({ type: fc.constant("stays" as const), number, name: word, text: word }, plainObject),
    fc.record({ type: fc.constant("save" as const), number, agent, upto: number, code: word, state: fc.uint8Array({ maxLength: 40 }), to: fc.option(word), also: fc.array(number, { maxLength: 4 }), from: fc.option(word) }, plainObject),
    fc.record({ type: fc.constant("hello" as const), versions: fc.constant([1]), token: fc.option(word), resume: fc.constant(null), lease_ms: fc.constant(null), window: fc.constant(null), message_bytes: fc.constant(null), remember: agent, moves: fc.constant(true) }, plainObject),
    fc.record({ type: fc.constant("hello" as const), versions: fc.constant([1]), token: fc.constant(null), resume: fc.constant(null), lease_ms: fc.constant(null), window: fc.constant(null), message_bytes: fc.constant(null), remember: agent, certificate: word }, plainObject),
    fc.record({ type: fc.constant("state" as const), number, agent, code: word, state: fc.uint8Array({ maxLength: 40 }), from: fc.option(word) }, plainObject),
    fc.record({ type: fc.constant("challenge" as const), text: word }, plainObject),
  );
  fc.assert(
    fc.property(frame, (some) => {
      for (const form of ["json", compact] as const) assert.deepEqual(new FrameReader(form, 0).read(new FrameWriter(form, 0).write(some)), some);
    }),
    RUNS,
  );
});

test("invalid JSON messages are refused", () => {
  const member = fc.constantFrom("performative", "sender", "receivers", "content", "reply_to", "user", "reply_by_ms", "atom", "term", "args", "map", "record", "fields", "var", "slot", "list", "tail", "object", "items", "int", "num", "bytes", "__proto__", "toString");
  const { json } = fc.letrec<{ json: fc.JsonValue }>((tie) => ({
    json: fc.oneof({ depthSize: "small" }, fc.jsonValue({ maxDepth: 1 }), fc.array(tie("json"), { maxLength: 3 }), fc.dictionary(member, tie("json"), { maxKeys: 4 }) as fc.Arbitrary<fc.JsonValue>),
  }));
  fc.assert(
    fc.property(json, (some) => {
      refusesOr(() => messageFromJson(some), (read) => assert.deepEqual(messageFromJson(JSON.parse(messageToJson(read))).performative, read.performative));
      refusesOr(() => valueFromJson(some), (read) => assert.equal(compareValues(valueFromJson(JSON.parse(valueToJson(read))), read), 0));
    }),
    { numRuns: RUNS.numRuns * 5 },
  );
});

test("short bomb does not fill the memory", () => {
  // A thousand columns of a thousand equal lists, each of a thousand equal lists.
  const bomb = Uint8Array.from([0xb6, 0xce, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0]);
  assert.throws(() => decodeValue(bomb), { name: "DecodeError" });
});

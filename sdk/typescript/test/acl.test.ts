/** Test of this library with the vectors of `conformance/acl`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Aid } from "../src/acl/aid.js";
import { Decoder, decodeBody, decodeMessage, decodeValue, Encoder, encodeBody, encodeMessage, encodeValue } from "../src/acl/compact/index.js";
import { DecodeError, EncodeError } from "../src/acl/errors.js";
import { fromHex, hex, messageFromJson, messageToJson, parseJson, valueFromJson, valueToJson } from "../src/acl/json.js";
import { message, PERFORMATIVES, replyTo } from "../src/acl/message.js";
import { compareValues } from "../src/acl/order.js";
import { matches, type Template } from "../src/acl/template.js";
import { map, term, type Value } from "../src/acl/value.js";
import { vectors, vectorText } from "./vectors.js";

test("performatives are 22 in order", () => {
  assert.deepEqual([...PERFORMATIVES], vectors("acl/performatives.json"));
});

test("careless drafts are named errors", () => {
  const careless = (draft: object) => () => message(draft as Parameters<typeof message>[0]);
  assert.throws(careless({ receivers: "bob" }), (error) => error instanceof EncodeError && /without a performative/.test(error.message));
  assert.throws(careless({ performative: 7 }), EncodeError);
  assert.throws(careless({ performative: "inform", conversationId: 7 }), /conversationId is not a text/);
  assert.throws(careless({ performative: "inform", receivers: 7 }), EncodeError);
  assert.throws(careless({ performative: "inform", receivers: [undefined] }), EncodeError);
  const bare = { ...message({ performative: "inform", receivers: "bob" }), performative: undefined } as unknown as Parameters<typeof messageToJson>[0];
  assert.throws(() => messageToJson(bare), EncodeError);
  assert.throws(() => encodeMessage(bare), EncodeError);
});

test("agent names are parsed", () => {
  for (const vector of vectors<{ text: string; name?: string; platform?: string; error?: true }[]>("acl/agents.json")) {
    const aid = Aid.parse(vector.text);
    if (vector.error) assert.equal(aid, undefined, vector.text);
    else {
      assert.deepEqual([aid?.name, aid?.platform], [vector.name, vector.platform]);
      assert.equal(aid?.toString(), vector.text);
    }
  }
});

test("values have the standard order", () => {
  const lines = vectors<{ ascending: unknown[][] }>("acl/values.json").ascending.map((line) => line.map((json) => valueFromJson(json)));
  lines.forEach((line, at) => {
    lines.forEach((other, place) => {
      for (const one of line) {
        for (const two of other) {
          assert.equal(Math.sign(compareValues(one, two)), Math.sign(at - place), `${valueToJson(one)} and ${valueToJson(two)}`);
        }
      }
    });
  });
});

test("values survive JSON and compact", () => {
  for (const line of vectors<{ ascending: unknown[][] }>("acl/values.json").ascending) {
    for (const json of line) {
      const value = valueFromJson(json);
      assert.equal(compareValues(valueFromJson(JSON.parse(valueToJson(value))), value), 0);
      assert.deepEqual(decodeBody(encodeBody(value)), value);
      assert.deepEqual(decodeValue(encodeValue(value)), value);
    }
  }
});

test("replies match the vectors", () => {
  type Vector = { message: unknown; from: string; performative: string; reply: unknown };
  for (const vector of vectors<Vector[]>("acl/replies.json")) {
    const reply = replyTo(messageFromJson(vector.message), vector.from, vector.performative);
    assert.deepEqual(reply, messageFromJson(vector.reply));
  }
});

/** A template in the vectors' notation. */
type JsonTemplate = { [member: string]: string | true | JsonTemplate | JsonTemplate[] };

function templateOf(json: JsonTemplate): Template {
  const [[name, what]] = Object.entries(json) as [[string, string & JsonTemplate & JsonTemplate[]]];
  switch (name) {
    case "any":
      return {};
    case "and":
      return { and: what.map(templateOf) };
    case "or":
      return { or: what.map(templateOf) };
    case "not":
      return { not: templateOf(what) };
    case "conversation":
      return { conversationId: what };
    case "in_reply_to":
      return { inReplyTo: what };
    default:
      return { [name]: what };
  }
}

test("templates match the vectors", () => {
  for (const vector of vectors<{ template: JsonTemplate; message: unknown; matches: boolean }[]>("acl/templates.json")) {
    assert.equal(matches(templateOf(vector.template), messageFromJson(vector.message)), vector.matches, JSON.stringify(vector));
  }
});

test("messages survive canonical JSON and compact", () => {
  const lines = [...vectorText("acl/messages.json").matchAll(/"message": (\{.*\}), "string":/g)];
  assert.ok(lines.length > 20);
  for (const [, canonical] of lines) {
    const message = messageFromJson(parseJson(canonical as string));
    assert.equal(messageToJson(message), canonical);
    assert.deepEqual(decodeMessage(encodeMessage(message)), message);
  }
});

test("JSON variants are read or refused", () => {
  type Vector = { encoding: string; input: string; message?: unknown; error?: string };
  const all = vectors<Vector[]>("acl/variants.json").filter((vector) => vector.encoding === "json");
  assert.ok(all.length > 10);
  // `JSON.parse` does not report duplicate members.
  for (const vector of all.filter((vector) => vector.error !== "given twice")) {
    const read = () => messageFromJson(parseJson(vector.input.replace(/^\ufeff/, "")));
    if (vector.message === undefined) assert.throws(read, DecodeError, vector.input);
    else assert.equal(compareValues(read().content, messageFromJson(vector.message).content), 0);
  }
});

type Compact = {
  values: { value: unknown; body: string; document: string }[];
  messages: { message: unknown; document: string }[];
  link: { message: unknown; frame: string }[];
  refused: { document: string; because: string }[];
};

test("failed encoding leaves the encoder intact", () => {
  const value = map({ colours: ["red", "green", "blue"], count: 3n });
  const expected = encodeBody(value);
  let deep: Value = "deep";
  for (let level = 0; level < 300; level++) deep = [deep];
  for (const wrong of [{ wrong: 1 } as unknown as Value, 2n ** 64n, ["before", deep], term("t", "long enough", { wrong: 1 } as unknown as Value)]) {
    assert.throws(() => encodeBody(wrong), EncodeError);
    assert.deepEqual(encodeBody(value), expected);
  }
  // Parameters of a message have bodies of their own, and agents have some, too.
  const nested = message({ performative: "inform", sender: new Aid("amy", "home", { user: [["X-who", value]] }), receivers: "bob", content: value, user: [["X-what", value], ["X-more", [value, value]]] });
  assert.deepEqual(decodeMessage(encodeMessage(nested)), nested);
});

test("compact values match both ways", () => {
  for (const { value: json, body, document } of vectors<Compact>("acl/compact.json").values) {
    const value = valueFromJson(json);
    const name = JSON.stringify(json).slice(0, 200);
    assert.deepEqual(decodeBody(fromHex(body)), value, name);
    assert.deepEqual(decodeValue(fromHex(document)), value, name);
    assert.equal(hex(encodeBody(value)), body, name);
    assert.equal(hex(encodeValue(value)), document, name);
  }
});

test("compact messages match both ways", () => {
  for (const { message: json, document } of vectors<Compact>("acl/compact.json").messages) {
    const message = messageFromJson(json);
    assert.deepEqual(decodeMessage(fromHex(document)), message);
    assert.equal(hex(encodeMessage(message)), document);
  }
});

test("compact messages on a connection match both ways", () => {
  const [encoder, decoder] = [new Encoder(4096), new Decoder(4096)];
  for (const { message: json, frame } of vectors<Compact>("acl/compact.json").link) {
    const message = messageFromJson(json);
    assert.equal(hex(encoder.encode(message)), frame);
    assert.deepEqual(decoder.decode(fromHex(frame)), message);
  }
});

test("refused documents give their code", () => {
  for (const { document, because } of vectors<Compact>("acl/compact.json").refused) {
    assert.throws(() => decodeValue(fromHex(document)), { name: "DecodeError", code: because }, document);
  }
});

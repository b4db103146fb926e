/** Test of SL: vectors, JADE's output, and properties. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DecodeError, EncodeError } from "../src/acl/errors.js";
import { valueFromJson } from "../src/acl/json.js";
import { atom, term, type Value } from "../src/acl/value.js";
import { SL_PROFILES, slToValue, valueToSl, type SlProfile } from "../src/sl.js";
import { vectors } from "./vectors.js";

type Vector = { text: string; profile: SlProfile; value: unknown; canonical: string; error?: string; offset?: number };

test("contents match their least profile and canonical text", () => {
  for (const { text, profile, value: json, canonical, error } of vectors<Vector[]>("acl/sl.json")) {
    if (error !== undefined) continue;
    const value = valueFromJson(json);
    SL_PROFILES.forEach((other, at) => {
      if (at >= SL_PROFILES.indexOf(profile)) assert.deepEqual(slToValue(text, other), value, text);
      else assert.throws(() => slToValue(text, other), DecodeError, `${text} in ${other}`);
    });
    assert.equal(valueToSl(value, profile), canonical);
    assert.deepEqual(slToValue(canonical), value, canonical);
  }
});

test("invalid contents are refused at their offset", () => {
  for (const { text, error, offset } of vectors<Vector[]>("acl/sl.json")) {
    if (error === undefined) continue;
    assert.throws(() => slToValue(text), (thrown) => thrown instanceof DecodeError && thrown.message.includes(error) && thrown.offset === offset, `${text}: ${error} at ${offset}`);
  }
});

test("JADE's contents are read", () => {
  const all = vectors<string[]>("acl/jade-sl.json");
  assert.ok(all.length > 3);
  for (const text of all) {
    const read = slToValue(text);
    assert.deepEqual(slToValue(valueToSl(read)), read, text);
  }
});

const name = fc.oneof(fc.constantFrom("p", "set", "not", "action", "iota", "done", "two words", "true", "?x", ":k", "a\\", 'a"b', "", "20250101T000000000Z", "1e3", "-1"), fc.string({ maxLength: 6 }));
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    name.map(atom),
    name,
    fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.bigInt({ min: -(1n << 62n), max: 1n << 62n }).chain((ms) => fc.constantFrom(term("datetime", ms), term("duration", ms / 4096n))),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.tuple(fc.oneof(name, fc.constantFrom("and", "forall", "B", "=", "|", ";", "feasible")), fc.array(tie("value"), { minLength: 1, maxLength: 3 })).map(([functor, args]) => term(functor, ...args)),
    fc.tuple(name, fc.array(fc.tuple(fc.constantFrom("a", "b"), tie("value")), { maxLength: 2 })).map(([record, fields]) => ({ record, fields })),
  ),
}));

/** Normalises values: SL has one empty set, and strings for names that are not words. */
test("written SL is read and rewritten", () => {
  fc.assert(
    fc.property(value, (some) => {
      let text: string;
      try {
        text = valueToSl([some]);
      } catch (error) {
        if (error instanceof EncodeError) return;
        throw error;
      }
      const read = slToValue(text);
      assert.equal(valueToSl(read), text);
    }),
    { numRuns: 2000 },
  );
});

test("invalid SL is refused", () => {
  const piece = fc.oneof(fc.constantFrom("(", ")", " ", "(p", "((", "))", '"', '\\"', "#3\"", ":a", "?x", "action", "set", "1", "-", "+00000001T000000000", "20259901T000000000"), fc.string({ maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")), (text) => {
      try {
        slToValue(text);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
      }
    }),
    { numRuns: 5000 },
  );
  assert.throws(() => slToValue(`${"(p ".repeat(500)}${")".repeat(500)}`), { code: "too-deep" });
});

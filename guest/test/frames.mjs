// Values as bytes, for tests: docs/design/wasm-agents.md.

const utf8 = new TextEncoder();
export const hex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const toHex = (bytes) => Buffer.from(bytes).toString("hex");
const u32 = (number) => [number & 255, (number >> 8) & 255, (number >> 16) & 255, number >>> 24];
const field = (which, bytes) => [which, ...u32(bytes.length), ...bytes];

/** Makes a request: a term whose arguments are texts, whole numbers, and lists. */
export function request(functor, ...args) {
  const value = (item) => {
    if (Array.isArray(item)) return [8, ...u32(item.length), ...item.flatMap(value)];
    return typeof item === "string" ? [5, ...u32(item.length), ...utf8.encode(item)] : [3, ...int(item)];
  };
  const term = [11, 0, ...u32(functor.length), ...utf8.encode(functor), ...u32(args.length), ...args.flatMap(value)];
  return Uint8Array.of(18, ...field(1, utf8.encode("amy@test")), ...field(3, term), ...field(5, utf8.encode("r1")));
}

const int = (number) => new Uint8Array(BigInt64Array.of(BigInt(number)).buffer);

/** Returns the performative and the fields of a message. */
export function fields(frame) {
  const found = new Map();
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  for (let at = 1; at < frame.length; ) {
    const len = view.getUint32(at + 1, true);
    found.set(frame[at], frame.subarray(at + 5, at + 5 + len));
    at += 5 + len;
  }
  return { performative: frame[0], found };
}

/** Returns the content of a term whose arguments are whole numbers, texts, atoms, and lists. */
export function term(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 2;
  const count = () => ((at += 4), view.getUint32(at - 4, true));
  const text = () => {
    const len = count();
    at += len;
    return Buffer.from(bytes.subarray(at - len, at)).toString();
  };
  const values = (left) => Array.from({ length: left }, value);
  function value() {
    const kind = bytes[at++];
    if (kind === 3) return (at += 8), Number(view.getBigInt64(at - 8, true));
    return kind === 8 ? values(count()) : text();
  }
  return [text(), ...values(count())];
}

/** Spells a value in words, as the guests of `echo` do, from conformance/acl's notation. */
export function spell(json) {
  const text = (tag, string) => `${tag}${utf8.encode(string).length}:${string}`;
  const many = (values) => values.map((value) => spell(value) + ";").join("");
  const double = (number) => "d" + new BigUint64Array(Float64Array.of(number).buffer)[0].toString(16).padStart(16, "0");
  if (json === null) return "n";
  if (typeof json === "boolean") return json ? "T" : "F";
  if (typeof json === "number") return Number.isInteger(json) ? `i${json}` : double(json);
  if (typeof json === "string") return text("t", json);
  if (Array.isArray(json)) return `[${many(json)}]`;
  if ("int" in json) return `i${json.int}`;
  if ("num" in json) return double(Number(json.num));
  if ("atom" in json) return text("a", json.atom);
  if ("bytes" in json) return `b${json.bytes}`;
  if ("var" in json) return text("v", json.var);
  if ("map" in json) return `{${many(json.map.flat())}}`;
  if ("record" in json) return text("r", json.record) + `(${json.fields.map(([name, value]) => text("", name) + spell(value) + ";").join("")})`;
  const namespace = "namespace" in json ? text("m", json.namespace) : "";
  const annotations = json.annots?.length ? `[${many(json.annots)}]` : "";
  return `${json.negated ? "~" : ""}${namespace}${text("f", json.term)}(${many(json.args ?? [])})${annotations}`;
}

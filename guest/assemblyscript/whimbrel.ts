// Write agents for Whimbrel in AssemblyScript. `whimbrel agent build agent.ts` compiles them.
//
//     import { Agent, Message, Performative, Value, run } from "whimbrel";
//
//     class Greeter extends Agent {
//       onMessage(message: Message): void {
//         message.reply(Performative.INFORM, Value.text("hello")).send();
//       }
//     }
//
//     run(new Greeter());
//
// Everything that an agent knows is in its memory, and moves with it. The interface underneath is in
// docs/design/wasm-agents.md.

// Host functions: the operations of the node.
// @ts-ignore: decorator
@external("whim", "send") declare function whimSend(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "take") declare function whimTake(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "read") declare function whimRead(ptr: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("whim", "reason") declare function whimReason(ptr: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("whim", "name") declare function whimName(ptr: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("whim", "node") declare function whimNode(ptr: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("whim", "timer") declare function whimTimer(ms: i64, tag: i64): i32;
// @ts-ignore: decorator
@external("whim", "cancel") declare function whimCancel(tag: i64): i32;
// @ts-ignore: decorator
@external("whim", "timer_left") declare function whimTimerLeft(tag: i64): i64;
// @ts-ignore: decorator
@external("whim", "now") declare function whimNow(): i64;
// @ts-ignore: decorator
@external("whim", "random") declare function whimRandom(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "log") declare function whimLog(level: i32, ptr: usize, len: i32): void;
// @ts-ignore: decorator
@external("whim", "print") declare function whimPrint(ptr: usize, len: i32): void;
// @ts-ignore: decorator
@external("whim", "register") declare function whimRegister(service: usize, len: i32, kind: usize, kindLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "deregister") declare function whimDeregister(service: usize, len: i32, kind: usize, kindLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "search") declare function whimSearch(service: usize, len: i32, kind: usize, kindLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "exists") declare function whimExists(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "join") declare function whimJoin(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "leave") declare function whimLeave(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "act") declare function whimAct(env: usize, len: i32, ptr: usize, actionLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "storage_get") declare function whimStorageGet(key: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "storage_put") declare function whimStoragePut(key: usize, len: i32, value: usize, valueLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "storage_delete") declare function whimStorageDelete(key: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "storage_list") declare function whimStorageList(prefix: usize, len: i32, after: usize, afterLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "depart") declare function whimDepart(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "depart_clone") declare function whimDepartClone(node: usize, len: i32, name: usize, nameLen: i32): i32;
// @ts-ignore: decorator
@external("whim", "discard") declare function whimDiscard(ptr: usize, len: i32): void;
// @ts-ignore: decorator
@external("whim", "recalled") declare function whimRecalled(): i32;
// @ts-ignore: decorator
@external("whim", "set_lifetime") declare function whimSetLifetime(ms: i64): i32;
// @ts-ignore: decorator
@external("whim", "life") declare function whimLife(): i64;
// @ts-ignore: decorator
@external("whim", "on_failure") declare function whimOnFailure(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "stop") declare function whimStop(): void;
// @ts-ignore: decorator
@external("whim", "receive") declare function whimReceive(ptr: usize, len: i32, ms: i64): i32;
// @ts-ignore: decorator
@external("whim", "sleep") declare function whimSleep(ms: i64): void;
// @ts-ignore: decorator
@external("whim", "move_to") declare function whimMoveTo(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("whim", "clone_to") declare function whimCloneTo(node: usize, len: i32, name: usize, nameLen: i32): i32;

/** Errors of the node's operations (negative results). */
export const enum Failed {
  /** The policy does not grant it. */
  DENIED = -1,
  /** The agents of the node have used up a quota. */
  QUOTA = -2,
  /** A message, value or name is malformed. */
  MALFORMED = -3,
  /** The name or key does not exist. */
  UNKNOWN = -4,
  /** The answer did not come in time. */
  TIMEOUT = -5,
  /** The agent did not move. */
  STAYED = -6,
  /** The number of such things is at its limit. */
  FULL = -7,
}

/** Performatives of messages: FIPA00037's communicative acts. */
export const enum Performative {
  ACCEPT_PROPOSAL,
  AGREE,
  CANCEL,
  CFP,
  CONFIRM,
  DISCONFIRM,
  FAILURE,
  INFORM,
  INFORM_IF,
  INFORM_REF,
  NOT_UNDERSTOOD,
  PROPAGATE,
  PROPOSE,
  PROXY,
  QUERY_IF,
  QUERY_REF,
  REFUSE,
  REJECT_PROPOSAL,
  REQUEST,
  REQUEST_WHEN,
  REQUEST_WHENEVER,
  SUBSCRIBE,
  /** Another performative, such as AgentSpeak's `tell`: `performativeName` has its name. */
  NAMED = 254,
  /** In a template: any performative. */
  ANY = 255,
}

/** Kinds of values. */
export const enum Kind {
  NULL,
  FALSE,
  TRUE,
  INT,
  DOUBLE,
  TEXT,
  ATOM,
  BYTES,
  LIST,
  MAP,
  RECORD,
  TERM,
  VARIABLE,
}

/** Level of a log entry. */
export const enum Level {
  DEBUG,
  INFO,
  WARNING,
  ERROR,
}

/** Fields of messages. */
const enum Field {
  SENDER = 1,
  RECEIVER,
  CONTENT,
  CONVERSATION,
  REPLY_WITH,
  IN_REPLY_TO,
  ONTOLOGY,
  LANGUAGE,
  PROTOCOL,
  ENCODING,
  REPLY_BY,
  REPLY_TO,
  PERFORMATIVE,
  USER,
}

/** Flags of terms. */
const NEGATED: u8 = 1;
const HAS_NAMESPACE: u8 = 2;
const HAS_ANNOTATIONS: u8 = 4;

/** Content value of a message. */
export class Value {
  constructor(public kind: Kind) {}
  /** A whole number. */
  int: i64 = 0;
  /** A double. */
  double: f64 = 0;
  /** Text, an atom's or variable's name, a record's name, a term's functor. */
  text: string = "";
  bytes: StaticArray<u8> = [];
  /** A list's elements; a map's keys and values in turn; a record's values; a term's arguments. */
  items: Array<Value> = [];
  /** The names of a record's fields. */
  names: Array<string> = [];
  /** Negation of a term. */
  negated: bool = false;
  /** Namespace of a term, if it is not the default one. */
  namespace: string | null = null;
  /** Annotations of a term. */
  annotations: Array<Value> = [];

  static null(): Value {
    return new Value(Kind.NULL);
  }
  static bool(truth: bool): Value {
    return new Value(truth ? Kind.TRUE : Kind.FALSE);
  }
  static int(number: i64): Value {
    const value = new Value(Kind.INT);
    value.int = number;
    return value;
  }
  static double(number: f64): Value {
    const value = new Value(Kind.DOUBLE);
    value.double = number;
    return value;
  }
  private static named(kind: Kind, text: string): Value {
    const value = new Value(kind);
    value.text = text;
    return value;
  }
  static text(text: string): Value {
    return Value.named(Kind.TEXT, text);
  }
  static atom(name: string): Value {
    return Value.named(Kind.ATOM, name);
  }
  static variable(name: string): Value {
    return Value.named(Kind.VARIABLE, name);
  }
  static bytes(bytes: StaticArray<u8>): Value {
    const value = new Value(Kind.BYTES);
    value.bytes = bytes;
    return value;
  }
  static list(items: Array<Value>): Value {
    const value = new Value(Kind.LIST);
    value.items = items;
    return value;
  }
  /** Makes a map of keys and values, which take turns. */
  static map(items: Array<Value>): Value {
    const value = new Value(Kind.MAP);
    value.items = items;
    return value;
  }
  static record(name: string, names: Array<string>, values: Array<Value>): Value {
    const value = Value.named(Kind.RECORD, name);
    value.names = names;
    value.items = values;
    return value;
  }
  /** Makes the structure `functor(items)`; an atom if there are none. */
  static term(functor: string, items: Array<Value>): Value {
    const value = Value.named(items.length == 0 ? Kind.ATOM : Kind.TERM, functor);
    value.items = items;
    return value;
  }

  /** True for a number without a fraction: agents in AgentSpeak only have doubles. */
  get isInt(): bool {
    return this.kind == Kind.INT || (this.kind == Kind.DOUBLE && Math.floor(this.double) == this.double && Math.abs(this.double) < 9.2e18);
  }
  /** Whole number that this is, if it is one. */
  get asInt(): i64 {
    return this.kind == Kind.INT ? this.int : this.isInt ? <i64>this.double : 0;
  }
  /** Number that this is, if it is one. */
  get asDouble(): f64 {
    return this.kind == Kind.INT ? <f64>this.int : this.double;
  }
  /** Returns true for a structure with this functor and so many arguments; an atom has none. */
  isTerm(functor: string, count: i32): bool {
    return (this.kind == Kind.TERM || this.kind == Kind.ATOM) && this.text == functor && this.items.length == count;
  }
  /** Returns the value of a map's key that is this text or atom, or of a record's field; null if there is none. */
  field(name: string): Value | null {
    if (this.kind == Kind.RECORD) {
      const at = this.names.indexOf(name);
      return at < 0 ? null : this.items[at];
    }
    if (this.kind != Kind.MAP) return null;
    for (let i = 0; i < this.items.length; i += 2) {
      const key = this.items[i];
      if ((key.kind == Kind.TEXT || key.kind == Kind.ATOM) && key.text == name) return this.items[i + 1];
    }
    return null;
  }
}

/** Reader of frames. A truncated frame traps: nodes hand over none. */
class Reader {
  constructor(public at: usize, public end: usize) {}

  private skip(len: usize): usize {
    const at = this.at;
    assert(this.end - at >= len, "the node handed over what is no message");
    this.at = at + len;
    return at;
  }
  get more(): bool {
    return this.at < this.end;
  }
  byte(): u8 {
    return load<u8>(this.skip(1));
  }
  count(): i32 {
    return load<i32>(this.skip(4));
  }
  int(): i64 {
    return load<i64>(this.skip(8));
  }
  double(): f64 {
    return load<f64>(this.skip(8));
  }
  text(): string {
    const len = this.count();
    return String.UTF8.decodeUnsafe(this.skip(len), len);
  }
  rest(): string {
    return String.UTF8.decodeUnsafe(this.at, this.end - this.at);
  }
  bytes(): StaticArray<u8> {
    const len = this.count();
    const from = this.skip(len);
    const bytes = new StaticArray<u8>(len);
    memory.copy(changetype<usize>(bytes), from, len);
    return bytes;
  }
  field(): Reader {
    const len = this.count();
    const from = this.skip(len);
    return new Reader(from, from + len);
  }
  values(times: i32): Array<Value> {
    const count = this.count();
    const values = new Array<Value>();
    for (let i = 0; i < count * times; i++) values.push(this.value());
    return values;
  }
  value(): Value {
    const kind = <Kind>this.byte();
    const value = new Value(kind);
    switch (kind) {
      case Kind.INT: value.int = this.int(); break;
      case Kind.DOUBLE: value.double = this.double(); break;
      case Kind.TEXT: case Kind.ATOM: case Kind.VARIABLE: value.text = this.text(); break;
      case Kind.BYTES: value.bytes = this.bytes(); break;
      case Kind.LIST: value.items = this.values(1); break;
      case Kind.MAP: value.items = this.values(2); break;
      case Kind.RECORD: this.record(value); break;
      case Kind.TERM: this.term(value); break;
      default: assert(kind <= Kind.TRUE, "the node handed over what is no value");
    }
    return value;
  }
  private record(value: Value): void {
    value.text = this.text();
    const count = this.count();
    for (let i = 0; i < count; i++) {
      value.names.push(this.text());
      value.items.push(this.value());
    }
  }
  private term(value: Value): void {
    const flags = this.byte();
    value.negated = (flags & NEGATED) != 0;
    value.text = this.text();
    if (flags & HAS_NAMESPACE) value.namespace = this.text();
    value.items = this.values(1);
    if (flags & HAS_ANNOTATIONS) value.annotations = this.values(1);
  }
}

/** Writer of frames. */
class Writer {
  private room: ArrayBuffer = new ArrayBuffer(256);
  len: i32 = 0;

  get ptr(): usize {
    return changetype<usize>(this.room);
  }
  private more(len: i32): usize {
    const at = this.len;
    this.len = at + len;
    if (this.len > this.room.byteLength) {
      const room = new ArrayBuffer(max(this.len, 2 * this.room.byteLength));
      memory.copy(changetype<usize>(room), this.ptr, at);
      this.room = room;
    }
    return this.ptr + at;
  }
  byte(byte: u8): void {
    store<u8>(this.more(1), byte);
  }
  count(count: i32): void {
    store<i32>(this.more(4), count);
  }
  private tail(text: string): void {
    const len = String.UTF8.byteLength(text);
    String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, this.more(len));
  }
  text(text: string): void {
    this.count(String.UTF8.byteLength(text));
    this.tail(text);
  }
  field(which: Field, text: string | null): void {
    if (text === null) return;
    this.byte(<u8>which);
    this.text(text);
  }
  fields(which: Field, texts: Array<string>): void {
    for (let i = 0; i < texts.length; i++) this.field(which, texts[i]);
  }
  /** Begins a field. Returns the place of its length, which is written when the field has ended. */
  open(which: Field): i32 {
    this.byte(<u8>which);
    this.count(0);
    return this.len - 4;
  }
  close(place: i32): void {
    store<i32>(this.ptr + place, this.len - place - 4);
  }
  values(values: Array<Value>, times: i32): void {
    this.count(values.length / times);
    for (let i = 0; i < values.length; i++) this.value(values[i]);
  }
  value(value: Value): void {
    this.byte(<u8>value.kind);
    switch (value.kind) {
      case Kind.INT: store<i64>(this.more(8), value.int); break;
      case Kind.DOUBLE: store<f64>(this.more(8), value.double); break;
      case Kind.TEXT: case Kind.ATOM: case Kind.VARIABLE: this.text(value.text); break;
      case Kind.BYTES:
        this.count(value.bytes.length);
        memory.copy(this.more(value.bytes.length), changetype<usize>(value.bytes), value.bytes.length);
        break;
      case Kind.LIST: this.values(value.items, 1); break;
      case Kind.MAP: this.values(value.items, 2); break;
      case Kind.RECORD: this.record(value); break;
      case Kind.TERM: this.term(value); break;
    }
  }
  private record(value: Value): void {
    this.text(value.text);
    this.count(value.items.length);
    for (let i = 0; i < value.items.length; i++) {
      this.text(value.names[i]);
      this.value(value.items[i]);
    }
  }
  private term(value: Value): void {
    const namespace = value.namespace;
    const annotated = value.annotations.length > 0;
    this.byte((value.negated ? NEGATED : 0) | (namespace !== null ? HAS_NAMESPACE : 0) | (annotated ? HAS_ANNOTATIONS : 0));
    this.text(value.text);
    if (namespace !== null) this.text(namespace);
    this.values(value.items, 1);
    if (annotated) this.values(value.annotations, 1);
  }
}

/** An ACL message. Agents are named `agent@platform`, or `agent` alone on one's own platform. */
export class Message {
  /** Sender of a received message. An agent's own messages are always from itself. */
  sender: string = "";
  receivers: Array<string> = [];
  content: Value = Value.null();
  conversation: string | null = null;
  replyWith: string | null = null;
  inReplyTo: string | null = null;
  ontology: string | null = null;
  language: string | null = null;
  protocol: string | null = null;
  encoding: string | null = null;
  /** Milliseconds since 1970; -1 if it is not set. */
  replyBy: i64 = -1;
  replyTo: Array<string> = [];
  /** Name of the performative, if `performative` is NAMED. */
  performativeName: string | null = null;
  /** Names and values of the user's own parameters. */
  userNames: Array<string> = [];
  userValues: Array<Value> = [];

  constructor(public performative: Performative) {}

  /** Makes a message to `receiver`. */
  static to(receiver: string, performative: Performative, content: Value): Message {
    const message = new Message(performative);
    message.receivers.push(receiver);
    message.content = content;
    return message;
  }

  /** Makes the reply to this message: to its `replyTo` or sender, in its conversation, quoting its `replyWith`. */
  reply(performative: Performative, content: Value): Message {
    const answer = new Message(performative);
    answer.receivers = this.replyTo.length > 0 ? this.replyTo : [this.sender];
    answer.content = content;
    answer.conversation = this.conversation;
    answer.inReplyTo = this.replyWith;
    answer.ontology = this.ontology;
    answer.language = this.language;
    answer.protocol = this.protocol;
    answer.encoding = this.encoding;
    return answer;
  }

  /** Sends the message, when this call into the agent is over. Returns 0, or an error (`Failed`). */
  send(): i32 {
    const out = this.encode();
    return whimSend(out.ptr, out.len);
  }

  /** Has the message sent if the agent ends against its will: it traps, exceeds a quota, outlives its time, or is
   * killed. The content becomes the reason, a text. The message travels along; clones have none. Returns 0, or an error
   * (`Failed`). */
  onFailure(): i32 {
    const out = this.encode();
    return whimOnFailure(out.ptr, out.len);
  }

  private encode(): Writer {
    const out = new Writer();
    out.byte(<u8>this.performative);
    this.encodeFields(out);
    if (this.replyBy >= 0) {
      const place = out.open(Field.REPLY_BY);
      out.count(<i32>this.replyBy);
      out.count(<i32>(this.replyBy >> 32));
      out.close(place);
    }
    out.fields(Field.REPLY_TO, this.replyTo);
    out.field(Field.PERFORMATIVE, this.performativeName);
    for (let i = 0; i < this.userNames.length; i++) {
      const place = out.open(Field.USER);
      out.text(this.userNames[i]);
      out.value(this.userValues[i]);
      out.close(place);
    }
    return out;
  }

  private encodeFields(out: Writer): void {
    if (this.sender.length > 0) out.field(Field.SENDER, this.sender);
    out.fields(Field.RECEIVER, this.receivers);
    if (this.content.kind != Kind.NULL) {
      const place = out.open(Field.CONTENT);
      out.value(this.content);
      out.close(place);
    }
    out.field(Field.CONVERSATION, this.conversation);
    out.field(Field.REPLY_WITH, this.replyWith);
    out.field(Field.IN_REPLY_TO, this.inReplyTo);
    out.field(Field.ONTOLOGY, this.ontology);
    out.field(Field.LANGUAGE, this.language);
    out.field(Field.PROTOCOL, this.protocol);
    out.field(Field.ENCODING, this.encoding);
  }

  /** Decodes the message of a frame. */
  static decode(ptr: usize, len: i32): Message {
    const input = new Reader(ptr, ptr + len);
    const message = new Message(<Performative>input.byte());
    while (input.more) {
      const which = <Field>input.byte();
      message.read(which, input.field());
    }
    return message;
  }

  private read(which: Field, input: Reader): void {
    switch (which) {
      case Field.SENDER: this.sender = input.rest(); break;
      case Field.RECEIVER: this.receivers.push(input.rest()); break;
      case Field.CONTENT: this.content = input.value(); break;
      case Field.CONVERSATION: this.conversation = input.rest(); break;
      case Field.REPLY_WITH: this.replyWith = input.rest(); break;
      case Field.IN_REPLY_TO: this.inReplyTo = input.rest(); break;
      case Field.ONTOLOGY: this.ontology = input.rest(); break;
      case Field.LANGUAGE: this.language = input.rest(); break;
      case Field.PROTOCOL: this.protocol = input.rest(); break;
      case Field.ENCODING: this.encoding = input.rest(); break;
      case Field.REPLY_BY: this.replyBy = input.int(); break;
      case Field.REPLY_TO: this.replyTo.push(input.rest()); break;
      case Field.PERFORMATIVE: this.performativeName = input.rest(); break;
      case Field.USER:
        this.userNames.push(input.text());
        this.userValues.push(input.value());
        break;
    }
  }

  /** Takes, with this message as a template, the oldest waiting message that fits: performative, sender, receivers,
   * conversation, inReplyTo, ontology, language and protocol, as far as they are set. Null if none fits. */
  take(): Message | null {
    const out = this.encode();
    return fetchMessage(whimTake(out.ptr, out.len));
  }

  /** Waits, with this message as a template, for a message that fits, in the middle of anything. The time is in
   * milliseconds; a negative one means for ever. Null if none came. */
  receive(ms: i64): Message | null {
    const out = this.encode();
    return fetchMessage(whimReceive(out.ptr, out.len, ms));
  }
}

/** Fetches the result whose length the last call returned. */
function fetch(len: i32): ArrayBuffer {
  const bytes = new ArrayBuffer(len);
  whimRead(changetype<usize>(bytes), len);
  return bytes;
}

function fetchMessage(len: i32): Message | null {
  if (len < 0) return null;
  const bytes = fetch(len);
  return Message.decode(changetype<usize>(bytes), len);
}

function fetchValue(len: i32): Value | null {
  if (len < 0) return null;
  const bytes = fetch(len);
  return new Reader(changetype<usize>(bytes), changetype<usize>(bytes) + len).value();
}

function textOf(call: (ptr: usize, cap: i32) => i32): string {
  const bytes = new ArrayBuffer(256);
  const ptr = changetype<usize>(bytes);
  const len = call(ptr, 256);
  return String.UTF8.decodeUnsafe(ptr, max(0, min(len, 256)));
}

/** Returns the agent's name, `agent@platform`. */
export function name(): string {
  return textOf((ptr, cap) => whimName(ptr, cap));
}
/** Returns the name of the agent's node. */
export function node(): string {
  return textOf((ptr, cap) => whimNode(ptr, cap));
}
/** Returns the reason for the last negative result. */
export function reason(): string {
  return textOf((ptr, cap) => whimReason(ptr, cap));
}
/** Prints a line. */
export function print(line: string): void {
  const bytes = String.UTF8.encode(line);
  whimPrint(changetype<usize>(bytes), bytes.byteLength);
}
/** Logs a text for the node's operators. */
export function log(level: Level, text: string): void {
  const bytes = String.UTF8.encode(text);
  whimLog(level, changetype<usize>(bytes), bytes.byteLength);
}
/** Has `onTimer` called with `tag` after so many milliseconds. Each tag has one timer: a later call sets it anew. */
export function setTimer(ms: i64, tag: i64): i32 {
  return whimTimer(ms, tag);
}
/** Ends the timer of this tag. */
export function cancelTimer(tag: i64): i32 {
  return whimCancel(tag);
}
/** Returns the milliseconds until the timer of this tag is due, or `Failed.UNKNOWN` if none is set. */
export function timerLeft(tag: i64): i64 {
  return whimTimerLeft(tag);
}
/** Returns the milliseconds since 1970, or `Failed.DENIED`. */
export function now(): i64 {
  return whimNow();
}
/** Fills the array with random numbers. They are no secrets. */
export function random(bytes: StaticArray<u8>): i32 {
  return whimRandom(changetype<usize>(bytes), bytes.length);
}
/** Offers a service in the DF. */
export function register(service: string, kind: string): i32 {
  const one = String.UTF8.encode(service), other = String.UTF8.encode(kind);
  return whimRegister(changetype<usize>(one), one.byteLength, changetype<usize>(other), other.byteLength);
}
/** Withdraws a service from the DF. */
export function deregister(service: string, kind: string): i32 {
  const one = String.UTF8.encode(service), other = String.UTF8.encode(kind);
  return whimDeregister(changetype<usize>(one), one.byteLength, changetype<usize>(other), other.byteLength);
}
/** Returns the agents that offer a service (empty: any); none if searching is not granted. */
export function search(service: string, kind: string): Array<string> {
  const one = String.UTF8.encode(service), other = String.UTF8.encode(kind);
  const names = new Array<string>();
  const found = fetchValue(whimSearch(changetype<usize>(one), one.byteLength, changetype<usize>(other), other.byteLength));
  if (found !== null) {
    for (let i = 0; i < found.items.length; i++) names.push(found.items[i].text);
  }
  return names;
}
/** Returns true if an agent of this name exists. */
export function exists(agent: string): bool {
  const bytes = String.UTF8.encode(agent);
  return whimExists(changetype<usize>(bytes), bytes.byteLength) == 1;
}
/** Joins a topic (`topic:NAME`) or group (`group:NAME`). */
export function join(topic: string): i32 {
  const bytes = String.UTF8.encode(topic);
  return whimJoin(changetype<usize>(bytes), bytes.byteLength);
}
/** Leaves a topic or group. */
export function leave(topic: string): i32 {
  const bytes = String.UTF8.encode(topic);
  return whimLeave(changetype<usize>(bytes), bytes.byteLength);
}
/** Has a named environment of the node carry out an action; null if that fails (`reason` says why). */
export function act(environment: string, action: Value): Value | null {
  const bytes = String.UTF8.encode(environment);
  const out = new Writer();
  out.value(action);
  return fetchValue(whimAct(changetype<usize>(bytes), bytes.byteLength, out.ptr, out.len));
}
/** Entry of a document in a list. */
export class Document {
  constructor(
    /** Name, with the folders: `poems/ozymandias.txt`. */
    public name: string,
    /** Length in bytes. */
    public bytes: i32,
  ) {}
}
/** Documents that the node offers by this name (`whimbrel run --offer NAME=FOLDER`, granted by its policy). On another
 * node the name means that node's documents. */
export class Documents {
  constructor(public environment: string) {}
  /** Returns the number of documents; -1 if the node has none, or they are not granted (`reason` says which). */
  count(): i32 {
    const count = act(this.environment, Value.atom("count"));
    return count !== null && count.isInt ? <i32>count.asInt : -1;
  }
  /** Returns at most `count` entries in the order of their names, from number `from` (0 is the first); none after the
   * last. */
  list(from: i32, count: i32): Array<Document> {
    const listed = act(this.environment, Value.term("list", [Value.int(from), Value.int(count)]));
    const documents = new Array<Document>();
    if (listed === null) return documents;
    for (let i = 0; i < listed.items.length; i++) {
      const item = listed.items[i];
      if (item.isTerm("document", 2)) documents.push(new Document(item.items[0].text, <i32>item.items[1].asInt));
    }
    return documents;
  }
  /** Reads a document that is text, of any length; null if there is no such text (`reason` says why). */
  read(name: string): string | null {
    const parts = new Array<string>();
    for (let from: i64 = 0, isLast = false; !isLast; ) {
      const part = act(this.environment, Value.term("read", [Value.text(name), Value.int(from), Value.int(65536)]));
      if (part === null || !part.isTerm("part", 2) || part.items[0].kind != Kind.TEXT) return null;
      parts.push(part.items[0].text);
      const next = part.items[1].asInt;
      // A part is shorter than it was asked to be by no more than a character that it does not cut.
      isLast = next - from + 4 <= 65536;
      from = next;
    }
    return parts.join("");
  }
}
/** Storage of this agent and its clones on their present node (capability `storage`). It stays on the node when they
 * leave, and those that come back find it again. */
export class Storage {
  /** Returns the value of a key; null if it has none, or the capability is not granted (`reason` says which). */
  get(key: string): ArrayBuffer | null {
    const bytes = String.UTF8.encode(key);
    const len = whimStorageGet(changetype<usize>(bytes), bytes.byteLength);
    if (len < 0) return null;
    const found = new ArrayBuffer(len);
    whimRead(changetype<usize>(found), len);
    return found;
  }
  /** Returns the value of a key as text. */
  getText(key: string): string | null {
    const found = this.get(key);
    return found === null ? null : String.UTF8.decode(found);
  }
  /** Stores a value under a key, in place of the former one. Returns 0, or an error. */
  put(key: string, value: ArrayBuffer): i32 {
    const bytes = String.UTF8.encode(key);
    return whimStoragePut(changetype<usize>(bytes), bytes.byteLength, changetype<usize>(value), value.byteLength);
  }
  /** Stores a text under a key. Returns 0, or an error. */
  putText(key: string, value: string): i32 {
    return this.put(key, String.UTF8.encode(value));
  }
  /** Deletes a key. Returns 0, or an error. */
  delete(key: string): i32 {
    const bytes = String.UTF8.encode(key);
    return whimStorageDelete(changetype<usize>(bytes), bytes.byteLength);
  }
  /** Returns all keys with this prefix, in their order; none if the capability is not granted. */
  keys(prefix: string): Array<string> {
    const one = String.UTF8.encode(prefix);
    const keys = new Array<string>();
    for (let before = -1; before < keys.length; ) {
      before = keys.length;
      const other = String.UTF8.encode(before > 0 ? keys[before - 1] : "");
      const listed = fetchValue(whimStorageList(changetype<usize>(one), one.byteLength, changetype<usize>(other), other.byteLength));
      if (listed !== null) {
        for (let i = 0; i < listed.items.length; i++) keys.push(listed.items[i].text);
      }
    }
    return keys;
  }
}
/** Moves to a node when this call into the agent is over: `onArrival` comes next. */
export function depart(node: string): i32 {
  const bytes = String.UTF8.encode(node);
  return whimDepart(changetype<usize>(bytes), bytes.byteLength);
}
/** Leaves a copy of the agent under this name (empty: a new one) on a node when this call is over. */
export function departClone(node: string, name: string): i32 {
  const one = String.UTF8.encode(node), other = String.UTF8.encode(name);
  return whimDepartClone(changetype<usize>(one), one.byteLength, changetype<usize>(other), other.byteLength);
}
/** Number of times that the agent was called home. An `Itinerary` heeds that by itself. */
export function recalls(): i32 {
  return whimRecalled();
}
/** Limits the life of the agent and of copies that it makes: they end after so many milliseconds, on any node. Returns
 * 0, or `Failed.DENIED` in durable societies, whose agents have no limit of life. */
export function setLifetime(ms: i64): i32 {
  return whimSetLifetime(ms);
}
/** Returns a number that tells this agent from earlier and later agents of its name. The number never changes; clones
 * have others. */
export function life(): i64 {
  return whimLife();
}
/** Ends the agent when this call into it is over, or waits. Sent messages leave; a requested move or copy is
 * dropped. */
export function stop(): void {
  whimStop();
}
/** Waits so many milliseconds, in the middle of anything. */
export function sleep(ms: i64): void {
  whimSleep(ms);
}
/** Moves to a node in the middle of anything, and continues there. Returns 0, or `Failed.STAYED`. */
export function moveTo(node: string): i32 {
  const bytes = String.UTF8.encode(node);
  clean();
  return whimMoveTo(changetype<usize>(bytes), bytes.byteLength);
}
/** Leaves a copy of the agent under this name (empty: a new one) on a node. Returns 0 to the agent that called, 1 to
 * the copy. */
export function cloneTo(node: string, name: string): i32 {
  const one = String.UTF8.encode(node), other = String.UTF8.encode(name);
  clean();
  return whimCloneTo(changetype<usize>(one), one.byteLength, changetype<usize>(other), other.byteLength);
}

/** Stop of a journey, with the task that is to be done there. */
export class Stop<T> {
  constructor(
    public node: string,
    public task: T,
  ) {}
}

/** Node that a journey missed. */
export class Missed {
  constructor(
    public node: string,
    public why: string,
  ) {}
}

/** Reason why a journey is over. */
export const enum TourEnd {
  /** The journey is not over. */
  NOT_YET,
  /** There is no further stop. */
  DONE,
  /** There is no time for a further stop. */
  LATE,
  /** The agent was called home. */
  RECALLED,
  /** The agent cannot go back: `noWayBack` says why. */
  NO_WAY_BACK,
}

class Places<T> {
  constructor(
    public nodes: Array<string>,
    public task: T,
  ) {}
}

/** Number of journeys with a time limit: their timers have the lowest tags. */
let timedTours: i64 = 0;

/** Itinerary: the stops of a journey, each with a task, and with alternatives in case its node is dead. The agent moves
 * in the middle of its call, as with `moveTo`.
 *
 *     const tour = new Itinerary<string>()
 *       .stop(["north"], "read")
 *       .stop(["south", "south-mirror"], "count")
 *       .within(60000)
 *       .returning();
 *     for (let stop = tour.next(); stop !== null; stop = tour.next()) print(stop.task + " on " + stop.node);
 *     if (tour.ended == TourEnd.RECALLED) print("somebody called me home");
 */
export class Itinerary<T> {
  /** Reason why the journey is over. */
  ended: TourEnd = TourEnd.NOT_YET;
  /** Nodes that the journey missed. */
  missed: Array<Missed> = [];
  /** Last node that the agent tried when it could not go back. */
  noWayBack: Missed | null = null;
  private stops: Array<Places<T>> = [];
  /** Destinations after the last stop, by preference. The first one may be empty: the node where the journey began. */
  private back: Array<string> = [];
  private ms: i64 = -1;
  private tag: i64 = 0;
  private begun: bool = false;
  private recalls: i32 = 0;

  /** Adds a stop, to do `task` on the first of these nodes that can be reached. */
  stop(nodes: Array<string>, task: T): Itinerary<T> {
    this.stops.push(new Places<T>(nodes, task));
    return this;
  }
  /** Limits the journey: no further stop is made later than so many milliseconds after the first `next`. */
  within(ms: i64): Itinerary<T> {
    this.ms = ms;
    return this;
  }
  /** Ends the journey at the node where it began. */
  returning(): Itinerary<T> {
    return this.returningTo([""]);
  }
  /** Ends the journey at the first of these nodes that can be reached. */
  returningTo(nodes: Array<string>): Itinerary<T> {
    this.back = nodes;
    return this;
  }

  /** Begins the journey, or continues it from a stop. Returns the next stop, where the agent is then. Null if the
   * journey is over: `ended` says why. */
  next(): Stop<T> | null {
    if (!this.begun) this.begin();
    if (this.ended != TourEnd.NOT_YET || this.isRecalled()) return null;
    if (this.isLate()) return this.end(TourEnd.LATE);
    while (this.stops.length > 0) {
      const places = this.stops.shift();
      for (let i = 0; i < places.nodes.length; i++) {
        // Waiting for dead nodes may have taken long.
        if (this.isLate()) return this.end(TourEnd.LATE);
        const there = places.nodes[i];
        const came = this.goTo(there);
        if (this.isRecalled()) return null;
        if (came) return new Stop<T>(there, places.task);
        this.missed.push(new Missed(there, reason()));
      }
    }
    return this.end(TourEnd.DONE);
  }

  private begin(): void {
    this.begun = true;
    this.recalls = whimRecalled();
    for (let i = 0; i < this.back.length; i++) {
      if (this.back[i].length == 0) this.back[i] = node();
    }
    if (this.ms < 0) return;
    this.tag = i64.MIN_VALUE + timedTours++;
    assert(whimTimer(this.ms, this.tag) >= 0, "the journey has no timer");
  }
  private isLate(): bool {
    return this.ms >= 0 && whimTimerLeft(this.tag) <= 0;
  }
  private goTo(to: string): bool {
    return to == node() || moveTo(to) == 0;
  }
  private isRecalled(): bool {
    if (whimRecalled() == this.recalls) return false;
    this.finish(TourEnd.RECALLED);
    return true;
  }
  private finish(how: TourEnd): void {
    this.ended = how;
    this.stops = [];
    if (this.ms >= 0) whimCancel(this.tag);
  }
  private end(how: TourEnd): Stop<T> | null {
    this.finish(how);
    for (let i = 0; i < this.back.length; i++) {
      const there = this.back[i];
      const came = this.goTo(there);
      if (this.isRecalled() || came) return null;
      this.noWayBack = new Missed(there, reason());
    }
    if (this.noWayBack !== null) this.ended = TourEnd.NO_WAY_BACK;
    return null;
  }
}

/** Minion: a task on another node. It has its sender's state and its own fields. */
export abstract class Minion {
  /** Reason of a failure. */
  why: string = "it found nothing";
  /** Does the task, on the other node. Returns the result; null if the task failed. */
  abstract run(): Value | null;
}

/** Result of a minion. */
export class Report {
  constructor(
    /** Value that the minion found; null if it failed, could not go, or did not answer in time. */
    public value: Value | null,
    /** Reason of a failure. */
    public why: string,
  ) {}
}

let minions: i32 = 0;

/** Sends a minion: a copy of the agent runs it on the first of these nodes that can be reached. Its result is brought
 * back, and nothing is left there. The copy lives no longer than so many milliseconds, even if nobody waits for it any
 * more. */
export function dispatch(nodes: Array<string>, ms: i64, minion: Minion): Report {
  const sender = name();
  // Earlier agents of this name may have sent minions, too.
  const id = sender + "-minion-" + (<u64>whimLife()).toString(16) + "-" + (++minions).toString();
  let which: i32 = Failed.UNKNOWN;
  for (let i = 0; i < nodes.length && which < 0; i++) which = cloneTo(nodes[i], "");
  if (which < 0) return new Report(null, nodes.length > 0 ? reason() : "no node to send a minion to");
  if (which == 1) report(sender, id, ms, minion);
  const template = new Message(Performative.ANY);
  template.inReplyTo = id;
  const answer = template.receive(ms);
  if (answer === null) return new Report(null, "the minion did not answer");
  if (answer.performative != Performative.INFORM) return new Report(null, answer.content.text);
  return new Report(answer.content, "");
}

/** Runs the copy's part, after which the copy ends. */
function report(sender: string, id: string, ms: i64, minion: Minion): void {
  whimSetLifetime(ms);
  // Should it fail, its sender need not wait until its time is over.
  const lastWords = Message.to(sender, Performative.FAILURE, Value.null());
  lastWords.inReplyTo = id;
  lastWords.onFailure();
  const found = minion.run();
  const answer = Message.to(sender, found !== null ? Performative.INFORM : Performative.FAILURE, found !== null ? found : Value.text(minion.why));
  answer.inReplyTo = id;
  if (answer.send() < 0) log(Level.ERROR, "what the minion found cannot be sent: " + reason());
  stop();
  for (;;) whimSleep(i64.MAX_VALUE);
}

/** Collects garbage, and zeroes free memory, so that it does not travel. It depends on the layout of AssemblyScript's
 * allocator (std/assembly/rt/tlsf.ts): blocks lie one after the other, each with a word for its size and whether it is
 * free. A free block has two pointers at its beginning and one at its end. */
function clean(): void {
  __collect();
  if (ASC_VERSION_MAJOR != 0 || ASC_VERSION_MINOR != 28) return;
  const FREE: u32 = 1, FLAGS: u32 = 3, ROOT: usize = 1572;
  const root = (__heap_base + 15) & ~15;
  let block = ((root + ROOT + 4 + 15) & ~15) - 4;
  for (;;) {
    const info = load<u32>(block);
    const size = info & ~FLAGS;
    if (size == 0) return;
    if (info & FREE) memory.fill(block + 12, 0, size - 12);
    block += 4 + size;
  }
}

/** Agent with a handler for each kind of event. */
export abstract class Agent {
  /** Starts, with the options from the project, a map. */
  onStart(options: Value): void {}
  /** Handles a message. */
  onMessage(message: Message): void {}
  /** Handles a timer that `setTimer` set. */
  onTimer(tag: i64): void {}
  /** Prepares a departure: the agent can drop what it need not carry. */
  onDeparture(): void {}
  /** Handles an arrival, or the news that the agent stayed: a map with "from", "to", "clone"; with "reason" if it
   * stayed, and "recalled" if it was called home. */
  onArrival(arrival: Value): void {}
  /** Handles the end of the agent by another's will. */
  onStop(): void {}
}

let agent: Agent | null = null;
let inbox: usize = 0;
let inboxLen: i32 = 0;

/** Makes an agent the agent of the module. Call it once, where the program begins. */
export function run(the: Agent): void {
  agent = the;
}

function running(): Agent {
  return assert(agent, "no agent: call run(new YourAgent())");
}

// Calls of the node: `whimbrel agent build` exports them.

export function whim_abi(): i32 {
  return 1;
}
export function whim_inbox(len: i32): usize {
  if (len > inboxLen) {
    if (inbox != 0) heap.free(inbox);
    inboxLen = max(len, 256);
    inbox = heap.alloc(inboxLen);
  }
  return inbox;
}
export function whim_start(ptr: usize, len: i32): i32 {
  running().onStart(new Reader(ptr, ptr + len).value());
  return 0;
}
export function whim_handle(ptr: usize, len: i32): i32 {
  running().onMessage(Message.decode(ptr, len));
  return 0;
}
export function whim_timer(tag: i64): i32 {
  // An itinerary's, which asks for it.
  if (tag < i64.MIN_VALUE + timedTours) return 0;
  running().onTimer(tag);
  return 0;
}
export function whim_before_move(): void {
  running().onDeparture();
  clean();
  if (inbox != 0) whimDiscard(inbox, inboxLen);
}
export function whim_after_move(ptr: usize, len: i32): i32 {
  running().onArrival(new Reader(ptr, ptr + len).value());
  return 0;
}
export function whim_stop(): void {
  running().onStop();
}

/** Logs the fault of a program that cannot continue; AssemblyScript calls it. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  log(Level.ERROR, (message !== null ? message : "it cannot go on") + " (" + (file !== null ? file : "") + ":" + line.toString() + ")");
  unreachable();
}

/**
 * The client's end of a session as a state machine: no sockets, no clock, no randomness. Time and chance come in, frames and
 * events go out.
 *
 * - Inputs: {@link Session.handleConnected}, {@link Session.handleFrame}, {@link Session.handleClosed},
 *   {@link Session.handleTimeout}, and what the client wants: `create`, `end`, `send`, `certify`, `bye`.
 * - Outputs, after each input until there is no more: {@link Session.pollEvent}, {@link Session.pollFrame}; then
 *   {@link Session.pollTimeout} says when to call `handleTimeout`.
 *
 * What is sent is kept until the node has it, and is written again over the next connection, so that nothing is lost,
 * doubled or out of order while the session lives.
 */
import { DecodeError, WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import { FrameReader, FrameWriter, seal, sealedBytes, type Code, type CodePart, type Form, type Frame, type OnLeave, type Outgoing, type Refused, type Welcome } from "./frames.js";
import {
  ACK_DELAY_MS,
  CODE_PART_BYTES,
  FAULTS_MAX,
  LEASE_MS,
  MESSAGE_BYTES,
  MISSES_MAX,
  OPEN_MESSAGES_MAX,
  OPEN_RUN_BYTES,
  PATIENCE_MS,
  RECONNECT_MS_MAX,
  RECONNECT_MS_MIN,
  RECONNECTS_PER_LEASE,
  REMEMBER,
  SENDINGS_AT_ONCE,
  SENDINGS_MAX,
  SESSION_VERSION,
  WELCOME_MS_MAX,
  WINDOW,
} from "./limits.js";

/** What a client asks for. The node may grant less. */
export interface SessionOptions {
  /** What lets the client in. */
  readonly token?: string;
  /**
   * A certificate of the platform's authority, as PEM: does instead of a token, for the agent that it names. Over a WebSocket the node asks the client to prove
   * that it is its own: {@link Session.prove}.
   */
  readonly certificate?: string;
  /** How long the session and its agents outlive the client's last sign of life: 1 s to 5 min; 20 s if not said. */
  readonly leaseMs?: number;
  /** How many numbered frames may be unacknowledged each way. */
  readonly window?: number;
  /** Bytes of the longest message that the client takes. */
  readonly messageBytes?: number;
  /** Agents and texts that compact messages may refer to by number. */
  readonly remember?: number;
  /** How frames are written: as JSON, or as fewer bytes with `compact` of `whimbrel/compact`. */
  readonly form?: Form;
  /** Whether its agents may be asked to go elsewhere, and others to come here: `yield` and `offer` are answered. */
  readonly moves?: boolean;
  /** Whether it connects with another node of the platform if it is sent there, as its session or its agent is with that one. Sessions of `connect` do if not said. */
  readonly follows?: boolean;
  /** How long the first connection is tried before giving up: 5 s if not said. */
  readonly patienceMs?: number;
}

/** How a session begins that is not the first of its client. */
export interface Beginning {
  /** Where it is tried first: `HOST:PORT`, or `:PORT` at the host that is known. */
  readonly place?: string;
  /** Its agents are to be with whichever node it comes to: it follows only where it went itself. */
  readonly stays?: boolean;
}

/** Why a session is over: a node's code; `bye` after a good-bye; `unreachable` if there was never a connection. */
export type EndCode = Code | "bye" | "unreachable";

/** The session is over, or never began. */
export class SessionError extends WhimbrelError {
  override readonly name = "SessionError";

  constructor(
    /** Why, for programs. */
    readonly code: EndCode,
    text: string,
  ) {
    super(`${code}: ${text}`);
  }
}

/** What happened. */
export type SessionEvent =
  | { readonly type: "connect"; readonly place?: string }
  | { readonly type: "disconnect"; readonly why: string }
  | { readonly type: "challenge"; readonly text: string }
  | { readonly type: "welcome"; readonly welcome: Welcome; readonly resumed: boolean }
  | { readonly type: "created"; readonly agent: number; readonly name: string }
  | { readonly type: "ended"; readonly agent: number; readonly reason: string }
  | { readonly type: "lost"; readonly why: string }
  | { readonly type: "message"; readonly agent: number; readonly number: number; readonly message: Message; readonly bytes: number }
  | { readonly type: "unreadable"; readonly agent: number; readonly number: number; readonly why: string }
  | { readonly type: "saved"; readonly agent: number; readonly of: number }
  | { readonly type: "lacks"; readonly agent: number; readonly code: string }
  | { readonly type: "code"; readonly part: CodePart }
  | { readonly type: "yield"; readonly agent: number; readonly to: string }
  | { readonly type: "offer"; readonly name: string; readonly code: string }
  | { readonly type: "state"; readonly agent: number; readonly code: string; readonly state: Uint8Array; readonly from: string | null }
  | { readonly type: "certified"; readonly agent: number; readonly certificates: string }
  | { readonly type: "refused"; readonly of: number; readonly code: Code; readonly text: string }
  | { readonly type: "over"; readonly error: SessionError };

/** Codes after which the same session cannot be gone on with; after `taken-over` once more. */
const FINAL: readonly Code[] = ["unauthorised", "session-gone", "lease-over", "stopping", "version"];

type NumberedOutgoing = Extract<Outgoing, { number: number }>;

interface Connection {
  readonly reader: FrameReader;
  /** Until the welcome, the writer of the hello only. */
  writer: FrameWriter;
  isWelcome: boolean;
  helloDue: boolean;
  /** What the node wants signed, and the signature if that is to be written. */
  challenge: string | undefined;
  proof: Uint8Array | undefined;
  readonly since: number;
  /** How many of what is kept were written to it. */
  written: number;
  byeWritten: boolean;
}

/** How often something failed at the same place: what went well elsewhere in between does not count. */
class Faults {
  #count = 0;
  #at = 0;

  /** It failed behind this number; true if that was too often. */
  add(at: number): boolean {
    this.#count = at > this.#at ? 1 : this.#count + 1;
    this.#at = at;
    return this.#count >= FAULTS_MAX;
  }
}

/** Stands for the last list of open messages as long as the node has none. */
const UNKNOWN = "?";

/** See the module. Times are milliseconds of any clock that does not go back. */
export class Session {
  readonly form: Form;
  readonly #options: SessionOptions;
  readonly #random: () => number;
  readonly #startedAt: number;
  #events: SessionEvent[] = [];
  #connection: Connection | undefined;
  #welcome: Welcome | undefined;
  #over: SessionError | undefined;
  #leaving = false;
  /** What the node did not acknowledge, and the number of the last that was numbered. */
  readonly #kept: NumberedOutgoing[] = [];
  #keptFrom = 0;
  #last = 0;
  #credit = 0;
  #received = 0;
  /** Numbers of messages that the agents have not handled: their senders hear `failure` if the agent ends, or this program does. */
  open: () => readonly number[] = () => [];
  /** True if the open messages may differ from those in the last `open` frame; the next one follows soon. */
  isStale = false;
  #listed = UNKNOWN;
  /** What was last acknowledged. */
  #told = 0;
  #ackDueAt = Infinity;
  #spokeAt = 0;
  #heardAt: number;
  #connectAt: number;
  /** Since when a connection is being opened; Infinity if none is. */
  #openingSince = Infinity;
  #failures = 0;
  /** Connections so far: the node tells by it which is the newest. */
  #attempt = 0;
  /** What the node said that cannot be, and what it did not take. */
  readonly #misheard = new Faults();
  readonly #rejected = new Faults();
  #takenOverAt = -Infinity;
  readonly #stays: boolean;
  /** Where the node is that has the session, or is to have it: nothing if that is where all are. */
  #place: string | undefined;
  /** How often in a row it was sent elsewhere, and could not reach who was said to be there. */
  #sendings = 0;
  #misses = 0;
  /** Why there is no connection. */
  #why = "there was never a connection";

  /** `random` gives numbers from 0 to 1: it spreads over time what many clients do after a break. */
  constructor(options: SessionOptions, now: number, random: () => number, { place, stays = false }: Beginning = {}) {
    this.#place = place;
    this.#stays = stays;
    this.form = options.form ?? "json";
    this.#options = options;
    this.#random = random;
    this.#startedAt = now;
    this.#heardAt = now;
    this.#connectAt = now;
    this.handleTimeout(now);
  }

  /** What was granted; undefined until the first welcome. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  /** Whether it is with another node than the one that it was to begin with, as that could not be reached. */
  get hasMissed(): boolean {
    return this.#misses > 0;
  }

  /** Why the session is over, if it is. */
  get over(): SessionError | undefined {
    return this.#over;
  }

  /** How many numbered frames wait for the node's acknowledgement. */
  get unacknowledged(): number {
    return this.#kept.length - this.#keptFrom;
  }

  // ---- What the client wants

  /** An agent is to be; its number is free. */
  create(agent: number, name: string): number {
    return this.#keep((number) => ({ type: "create", number, agent, name }));
  }

  /** An agent is to end. */
  end(agent: number): number {
    return this.#keep((number) => ({ type: "end", number, agent }));
  }

  /**
   * An agent says something.
   *
   * @throws {@link EncodeError} if the message cannot be written; nothing was sent then.
   */
  send(agent: number, message: Message): number {
    const sealed = seal(this.form, message, this.#welcome?.message_bytes ?? MESSAGE_BYTES);
    return this.#keep((number) => ({ type: "message", number, agent, message: sealed }));
  }

  /** Bytes of what was said last; 0 if that is no message. */
  get lastBytes(): number {
    const last = this.#kept.at(-1);
    return last?.type === "message" ? sealedBytes(last.message) : 0;
  }

  /** An agent's key is to be certified. */
  certify(agent: number, request: string): number {
    return this.#keep((number) => ({ type: "certify", number, agent, request }));
  }

  /** An agent is to be kept when the session is over; what it says leaves with the save behind it, if it is held. */
  keep(agent: number, policy: OnLeave, holds: boolean): number {
    return this.#keep((number) => ({ type: "keep", number, agent, policy, holds }));
  }

  /** What an agent is, with its messages up to this number of the node's, and these; `to` is where it is to go on with that, coming from the place called `from`. */
  save(agent: number, upto: number, code: string, state: Uint8Array, also: readonly number[] = [], to: string | null = null, from: string | null = null): number {
    return this.#keep((number) => ({ type: "save", number, agent, upto, code, state, to, also, from }));
  }

  /** The agent of this name neither goes nor comes: why. */
  stays(name: string, text: string): number {
    return this.#keep((number) => ({ type: "stays", number, name, text }));
  }

  /** The node is to say what an agent's code is. */
  lacks(agent: number, code: string): number {
    return this.#keep((number) => ({ type: "lacks", number, agent, code }));
  }

  /** An agent's code, for a node that lacks it; the number of its last part. */
  code(agent: number, code: string, bytes: Uint8Array): number {
    let at = 0;
    do {
      const part = bytes.subarray(at, at + CODE_PART_BYTES);
      const from = at;
      this.#keep((number) => ({ type: "code", number, agent, code, at: from, of: bytes.length, bytes: part }));
      at += part.length;
    } while (at < bytes.length);
    return this.#last;
  }

  /** Answers what a `challenge` asked for; nothing if that connection is no more. */
  prove(challenge: string, signature: Uint8Array): void {
    if (this.#connection?.challenge === challenge && !this.#connection.isWelcome) this.#connection.proof = signature;
  }

  /** It cannot be proven that the certificate is the client's own: there will be no session. */
  cannotProve(text: string): void {
    if (!this.#over) this.#end("unauthorised", text);
  }

  /** The session is to end once all that was said is written. */
  bye(): void {
    this.#leaving = true;
  }

  /** The session is over, whatever was said and however the node is. */
  abandon(text: string): void {
    if (!this.#over) this.#end("bye", text);
  }

  #keep(make: (number: number) => NumberedOutgoing): number {
    if (this.#over) throw this.#over;
    this.#kept.push(make(++this.#last));
    return this.#last;
  }

  // ---- What happens

  /** There is a connection. */
  handleConnected(now: number): void {
    if (this.#over) return;
    const form = this.form;
    this.#attempt += 1;
    this.#connection = {
      reader: new FrameReader(form, this.#remember),
      writer: new FrameWriter(form, 0),
      isWelcome: false,
      helloDue: true,
      challenge: undefined,
      proof: undefined,
      since: now,
      written: 0,
      byeWritten: false,
    };
    this.#connectAt = Infinity;
    this.#openingSince = Infinity;
  }

  /** The connection is no more, or could not be made. */
  handleClosed(now: number, why = "the connection broke"): void {
    if (this.#over) return;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#openingSince = Infinity;
    this.#why = why;
    const isMiss = this.#place !== undefined && !connection?.isWelcome;
    if (isMiss) {
      this.#place = undefined;
      this.#misses++;
    }
    if (connection?.isWelcome) this.#events.push({ type: "lost", why });
    // Where all nodes are it may be otherwise.
    this.#failures = connection?.isWelcome || isMiss ? 0 : this.#failures + 1;
    this.#ackDueAt = Infinity;
    const longest = this.#welcome ? Math.min(this.#leaseMs / RECONNECTS_PER_LEASE, RECONNECT_MS_MAX) : RECONNECT_MS_MAX;
    const backoff = Math.min(RECONNECT_MS_MIN * 2 ** this.#failures, longest);
    const wait = this.#failures === 0 ? RECONNECT_MS_MIN : backoff;
    this.#connectAt = now + wait * (0.5 + this.#random() / 2);
    this.#giveUpIfLate(now);
  }

  /** The time that {@link Session.pollTimeout} said has come. */
  handleTimeout(now: number): void {
    if (this.#over || this.#giveUpIfLate(now)) return;
    if (now >= this.#dropAt) return this.#drop(now, this.#connection ? "the node says nothing" : "nobody answers");
    if (this.#connection || now < this.#connectAt) return;
    this.#connectAt = Infinity;
    this.#openingSince = now;
    this.#events.push({ type: "connect", ...(this.#place !== undefined && { place: this.#place }) });
  }

  /**
   * When the connection, or the one that is being opened, is no good. The node speaks in each third of the lease: one that said
   * nothing in two of them is not heard any more, and the last third is left for another connection. One that goes on with the
   * session is made, and welcomed, within a third, too, so that it is not the only one that is tried; within a quarter where another node says that this one is, as that may be behind a wall.
   */
  get #dropAt(): number {
    const connection = this.#connection;
    if (connection?.isWelcome) return this.#heardAt + (2 * this.#leaseMs) / 3;
    const whole = this.#welcome ? this.#leaseMs : this.#patienceMs;
    const patience = this.#place !== undefined ? whole / 4 : this.#welcome ? whole / 3 : WELCOME_MS_MAX;
    return (connection?.since ?? this.#openingSince) + Math.min(WELCOME_MS_MAX, patience);
  }

  /**
   * The network may be there again, or the program was asleep: whoever waits to connect does so at once, and whoever has a connection
   * says something, so that it shows whether it still is one.
   */
  handleOnline(now: number): void {
    if (this.#over) return;
    this.#failures = 0;
    if (this.#connection) this.#spokeAt = -Infinity;
    // Many programs notice it at the same moment.
    else if (this.#openingSince === Infinity) this.#connectAt = Math.min(this.#connectAt, now + RECONNECT_MS_MIN * this.#random());
  }

  /** A frame came. */
  handleFrame(bytes: string | Uint8Array, now: number): void {
    const connection = this.#connection;
    if (this.#over || !connection) return;
    // What is said before the welcome may be another node's word, which knows nothing of the session.
    if (connection.isWelcome) this.#heardAt = now;
    let frame: Frame;
    try {
      frame = connection.reader.read(bytes);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return this.#fault(now, "protocol", error.message);
    }
    if (frame.type === "welcome") this.#welcomed(frame, connection, now);
    else if (frame.type === "challenge") this.#challenged(frame.text, connection, now);
    else if (frame.type === "error") this.#failed(frame.code, frame.text, now);
    else if (!connection.isWelcome) this.#fault(now, "protocol", `a ${frame.type} before the welcome`);
    else if (frame.type === "ack") this.#acknowledged(frame.received, frame.credit, now);
    else if (frame.type === "bye") this.#end("bye", this.#leaving ? "the client left" : "the node left");
    else if ("number" in frame) this.#numbered(frame, now);
    else this.#fault(now, "protocol", `a ${frame.type} from a node`);
  }

  #welcomed(welcome: Welcome, connection: Connection, now: number): void {
    const resumed = this.#welcome !== undefined;
    const fits = welcome.version === SESSION_VERSION && !connection.isWelcome && welcome.remember <= this.#remember;
    if (!fits || (resumed && welcome.session !== this.#welcome?.session)) return this.#fault(now, "protocol", "an unexpected welcome");
    this.#welcome = welcome;
    this.#heardAt = now;
    connection.isWelcome = true;
    connection.writer = new FrameWriter(this.form, welcome.remember);
    this.#failures = this.#sendings = 0;
    if (resumed) this.#misses = 0;
    // The node does not know yet that this client lists its open messages, or may not have received the last list.
    this.#listed = UNKNOWN;
    this.#told = this.#received;
    this.#credit = 0;
    this.#events.push({ type: "welcome", welcome, resumed });
    this.#acknowledged(welcome.received, welcome.credit, now);
  }

  /** The node asks once, before its welcome, of whoever shows a certificate. */
  #challenged(text: string, connection: Connection, now: number): void {
    const isDue = this.#options.certificate !== undefined && !this.#welcome && connection.challenge === undefined;
    if (!isDue) return this.#fault(now, "protocol", "an unexpected challenge");
    connection.challenge = text;
    this.#events.push({ type: "challenge", text });
  }

  /** The node has all numbers up to this one. */
  #acknowledged(received: number, credit: number | null, now: number): void {
    const first = this.#last - this.unacknowledged;
    if (received > this.#last || received < first) return this.#fault(now, "protocol", `an acknowledgement of ${received}`);
    const done = received - first;
    this.#keptFrom += done;
    if (this.#connection) this.#connection.written = Math.max(0, this.#connection.written - done);
    // Cutting off what is done with each time would take time that grows with what is left.
    if (this.#keptFrom > 1024 || this.#keptFrom === this.#kept.length) {
      this.#kept.splice(0, this.#keptFrom);
      this.#keptFrom = 0;
    }
    this.#credit = Math.max(this.#credit, credit ?? received + (this.#welcome?.window ?? 0));
  }

  #numbered(frame: Extract<Frame, { number: number }>, now: number): void {
    if (frame.number !== this.#received + 1) {
      return this.#fault(now, "protocol", `number ${frame.number} after ${this.#received}`);
    }
    const event = eventOf(frame);
    if (!event) return this.#fault(now, "protocol", `a ${frame.type} from a node`);
    this.#received = frame.number;
    this.isStale = true;
    this.#events.push(event);
    const isMuch = this.#received - this.#told >= (this.#welcome?.window ?? 0) / 4;
    this.#ackDueAt = isMuch ? now : Math.min(this.#ackDueAt, now + ACK_DELAY_MS);
  }

  /** The node said why it ends the connection. */
  #failed(code: Code, text: string, now: number): void {
    // It had read the good-bye before the connection broke.
    if (this.#leaving && code === "session-gone") return this.#end("bye", "the client left");
    if (this.#welcome && code === "taken-over") return this.#takenOver(text, now);
    if (code === "elsewhere" && this.#options.follows) return this.#sent(text, now);
    const mayTryAgain = this.#welcome === undefined ? code === "busy" : !FINAL.includes(code);
    if (!mayTryAgain || this.#rejected.add(this.#last - this.unacknowledged)) return this.#end(code, text);
    this.#drop(now, `${code}: ${text}`);
  }

  /**
   * An older connection of this very client that the network held up, and that the node takes for a newer one, does this, too: then there is nobody who would mind that it goes on. Whoever
   * else has the session minds, within a lease; so two of them take it from each other within two, and the first to lose it twice ends.
   */
  #takenOver(text: string, now: number): void {
    const isAgain = now - this.#takenOverAt < 2 * this.#leaseMs;
    this.#takenOverAt = now;
    if (isAgain) this.#end("taken-over", text);
    else this.#drop(now, `taken-over: ${text}`);
  }

  /** Another node has the session: at this place, or nobody knows where. If it cannot be reached there, it may answer where all do. */
  #sent(place: string, now: number): void {
    if (++this.#sendings > SENDINGS_MAX) return this.#end("elsewhere", `it was sent from node to node ${SENDINGS_MAX} times`);
    this.#place = undefined;
    this.#drop(now, `the session is elsewhere: ${place || "nobody knows where"}`);
    if (place === "" || this.#misses >= MISSES_MAX) return;
    this.#place = place;
    if (this.#sendings <= SENDINGS_AT_ONCE) this.#connectAt = now;
  }

  /** What the node said cannot be: over another connection it may say it better. */
  #fault(now: number, code: Code, text: string): void {
    if (this.#welcome === undefined || this.#misheard.add(this.#received)) this.#end(code, text);
    else this.#drop(now, text);
  }

  #drop(now: number, why: string): void {
    this.#events.push({ type: "disconnect", why });
    this.handleClosed(now, why);
  }

  #giveUpIfLate(now: number): boolean {
    if (now < this.#giveUpAt) return false;
    const isNew = this.#welcome === undefined;
    this.#end(isNew ? "unreachable" : "lease-over", isNew ? this.#why : `there was no connection for as long as the lease: ${this.#why}`);
    return true;
  }

  /**
   * When the next sign of life is due. The node wants one in each third of the lease; one in each quarter leaves time for another
   * connection even if the last one was lost just before the next.
   */
  get #speakAt(): number {
    return this.#spokeAt + this.#leaseMs / 4;
  }

  /** When there is no use in another connection. */
  get #giveUpAt(): number {
    return this.#welcome ? this.#heardAt + this.#leaseMs : this.#startedAt + this.#patienceMs;
  }

  get #patienceMs(): number {
    return this.#options.patienceMs ?? PATIENCE_MS;
  }

  #end(code: EndCode, text: string): void {
    if (this.#connection) this.#events.push({ type: "disconnect", why: text });
    this.#connection = undefined;
    this.#over = new SessionError(code, text);
    this.#events.push({ type: "over", error: this.#over });
  }

  get #leaseMs(): number {
    return this.#welcome?.lease_ms ?? this.#options.leaseMs ?? LEASE_MS;
  }

  get #remember(): number {
    return this.form === "json" ? 0 : (this.#options.remember ?? REMEMBER);
  }

  // ---- What follows

  /** The next thing that happened. */
  pollEvent(): SessionEvent | undefined {
    return this.#events.shift();
  }

  /** When to call {@link Session.handleTimeout}, or poll for frames. */
  pollTimeout(): number {
    if (this.#over) return Infinity;
    const next = Math.min(this.#giveUpAt, this.#dropAt, this.#connectAt);
    return this.#connection?.isWelcome ? Math.min(next, this.#ackDueAt, this.#speakAt) : next;
  }

  /** The next frame to write. */
  pollFrame(now: number): string | Uint8Array | undefined {
    const connection = this.#connection;
    const frame = connection && this.#nextFrame(connection, now);
    if (!frame) return undefined;
    this.#spokeAt = now;
    return connection.writer.write(frame);
  }

  #nextFrame(connection: Connection, now: number): Outgoing | undefined {
    if (connection.helloDue) {
      connection.helloDue = false;
      return this.#hello();
    }
    const { proof } = connection;
    if (proof) {
      connection.proof = undefined;
      return { type: "proof", signature: proof };
    }
    if (!connection.isWelcome || connection.byeWritten) return undefined;
    const next = this.#kept[this.#keptFrom + connection.written];
    if (this.isStale && this.#listed) this.#ackDueAt = Math.min(this.#ackDueAt, now + ACK_DELAY_MS);
    // An agent or session that ends first says what was handled.
    const isLast = this.isStale && (next ? next.type === "end" : this.#leaving);
    if (now >= this.#ackDueAt || now >= this.#speakAt || isLast || this.#listed === UNKNOWN) return this.#acknowledgement();
    if (next && next.number <= this.#credit && connection.written < (this.#welcome?.window ?? 0)) {
      connection.written++;
      return next;
    }
    if (!this.#leaving || next) return undefined;
    connection.byeWritten = true;
    return { type: "bye" };
  }

  /** Returns the next `open` frame if the open messages changed, else an acknowledgement. */
  #acknowledgement(): Outgoing {
    const messages: number[] = [];
    const most = Math.min(OPEN_MESSAGES_MAX, (this.#welcome?.message_bytes ?? 0) / OPEN_RUN_BYTES);
    for (const number of [...this.open()].sort((one, other) => one - other).slice(0, most)) {
      const [first = 0, count = 0] = messages.slice(-2);
      if (number === first + count) messages[messages.length - 1] = count + 1;
      else messages.push(number, 1);
    }
    const listed = messages.join();
    if (listed !== this.#listed) {
      this.#listed = listed;
      return { type: "open", messages };
    }
    this.isStale = false;
    this.#ackDueAt = Infinity;
    this.#told = this.#received;
    return { type: "ack", received: this.#received, credit: null };
  }

  #hello(): Outgoing {
    const { token, certificate, leaseMs, window, messageBytes, moves = false, follows = false } = this.#options;
    const welcome = this.#welcome;
    return {
      type: "hello",
      versions: [SESSION_VERSION],
      token: token ?? null,
      resume: welcome ? { session: welcome.session, secret: welcome.secret, received: this.#received } : null,
      lease_ms: leaseMs ?? LEASE_MS,
      window: window ?? WINDOW,
      message_bytes: messageBytes ?? MESSAGE_BYTES,
      remember: this.#remember,
      ...(moves && { moves }),
      ...(certificate !== undefined && !welcome && { certificate }),
      ...(welcome && { attempt: this.#attempt }),
      ...(follows && (welcome || !this.#stays) && { follows }),
    };
  }
}

/** Returns what a numbered frame of a node says, which is the frame itself; undefined if no node says that. */
function eventOf(frame: Extract<Frame, { number: number }> | Refused): SessionEvent | undefined {
  switch (frame.type) {
    case "message":
      return { ...frame, bytes: frame.bytes ?? 0 };
    case "code":
      return { type: "code", part: frame };
    case "created":
    case "ended":
    case "unreadable":
    case "saved":
    case "lacks":
    case "state":
    case "yield":
    case "offer":
    case "certified":
    case "refused":
      return frame;
    default:
      return undefined;
  }
}

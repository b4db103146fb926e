/**
 * The client's end of a session as a state machine. It has no sockets, clock or randomness.
 *
 * - Inputs: {@link Session.handleConnected}, {@link Session.handleFrame}, {@link Session.handleClosed},
 *   {@link Session.handleTimeout}, and what the client wants: `create`, `end`, `send`, `certify`, `bye`.
 * - Outputs, after each input until there is no more: {@link Session.pollEvent}, {@link Session.pollFrame}; then
 *   {@link Session.pollTimeout} says when to call `handleTimeout`.
 *
 * Sent frames are kept until the node acknowledges them, and are written again to the next connection. So nothing is
 * lost, duplicated or reordered while the session lives.
 */
import { Fifo } from "../collections/fifo.js";
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

/** Options of a session. The node may grant less. */
export interface SessionOptions {
  /** Token that admits the client. */
  readonly token?: string;
  /**
   * Certificate of the platform's authority, as PEM, instead of a token. It admits the agent that it names. Over a
   * WebSocket the node asks for a proof of its key ({@link Session.prove}).
   */
  readonly certificate?: string;
  /** Time that the session and its agents outlive the client's last sign of life: 1 s to 5 min; 20 s by default. */
  readonly leaseMs?: number;
  /** Numbered frames that may be unacknowledged in each direction. */
  readonly window?: number;
  /** Bytes of the longest message that the client accepts. */
  readonly messageBytes?: number;
  /** Agents and texts that compact messages may refer to by number. */
  readonly remember?: number;
  /** Form of frames: JSON, or the shorter `compact` of `whimbrel/compact`. */
  readonly form?: Form;
  /** True if agents may be asked to move away or here; the client then answers `yield` and `offer`. */
  readonly moves?: boolean;
  /**
   * True if the client follows redirections to the node that has its session or agent. True by default for sessions of
   * `connect`.
   */
  readonly follows?: boolean;
  /** Time limit for the first connection; 5 s by default. */
  readonly patienceMs?: number;
}

/** Start of a session that replaces another of its client. */
export interface SessionStart {
  /** Place to try first: `HOST:PORT`, or `:PORT` at the known host. */
  readonly place?: string;
  /**
   * True if it does not follow redirections of its first hello, so that its agents are created at the node it reaches.
   */
  readonly stays?: boolean;
}

/**
 * Reason for the end of a session: a node's code, `bye` after a normal end, or `unreachable` if no connection ever
 * succeeded.
 */
export type EndCode = Code | "bye" | "unreachable";

/** The session is over, or could not begin. */
export class SessionError extends WhimbrelError {
  override readonly name = "SessionError";

  constructor(
    /** Reason for programs. */
    readonly code: EndCode,
    text: string,
  ) {
    super(`${code}: ${text}`);
  }
}

/** Event of a session. */
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

/** Codes that end a session for good. `taken-over` allows one more attempt. */
const FINAL: readonly Code[] = ["unauthorised", "session-gone", "lease-over", "stopping", "version"];

type NumberedOutgoing = Extract<Outgoing, { number: number }>;

interface Connection {
  readonly reader: FrameReader;
  /** Writer of the hello until the welcome, then of all frames. */
  writer: FrameWriter;
  isWelcome: boolean;
  helloDue: boolean;
  /** Challenge of the node, and the signature when it is ready to send. */
  challenge: string | undefined;
  proof: Uint8Array | undefined;
  readonly since: number;
  /** Kept frames that were written to this connection. */
  written: number;
  byeWritten: boolean;
}

/** Failures in a row at the same frame number. Progress resets the count. */
class FaultCounter {
  #count = 0;
  #at = 0;

  /** Adds a failure at this number. Returns true after too many. */
  add(at: number): boolean {
    this.#count = at > this.#at ? 1 : this.#count + 1;
    this.#at = at;
    return this.#count >= FAULTS_MAX;
  }
}

/** Stands for an `open` list that the node does not have. */
const UNKNOWN = "?";

/** See the module. Times are milliseconds of a monotonic clock. */
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
  /** Unacknowledged frames, and the last number given. */
  readonly #kept = new Fifo<NumberedOutgoing>();
  #last = 0;
  #credit = 0;
  #received = 0;
  /**
   * Returns the numbers of messages that the agents have not handled. If an agent or this program ends, their senders
   * get `failure`.
   */
  open: () => readonly number[] = () => [];
  /** True if the open messages may differ from the last `open` frame; the next one follows soon. */
  isStale = false;
  #listed = UNKNOWN;
  /** Last acknowledged number. */
  #told = 0;
  #ackDueAt = Infinity;
  #spokeAt = 0;
  #heardAt: number;
  #connectAt: number;
  /** Time when the current attempt to connect began; Infinity if there is none. */
  #openingSince = Infinity;
  #failures = 0;
  /** Number of connections so far. The node uses it to find the newest. */
  #attempt = 0;
  /** Invalid frames of the node, and frames that the node rejected. */
  readonly #misheard = new FaultCounter();
  readonly #rejected = new FaultCounter();
  #takenOverAt = -Infinity;
  readonly #stays: boolean;
  /** Place of the node that has, or should have, the session; undefined for the original address. */
  #place: string | undefined;
  /** Redirections in a row, and unreachable nodes in a row. */
  #sendings = 0;
  #misses = 0;
  /** Reason for the missing connection. */
  #why = "no connection was ever made";

  /** `random` returns numbers from 0 to 1. It spreads the reconnections of many clients. */
  constructor(options: SessionOptions, now: number, random: () => number, { place, stays = false }: SessionStart = {}) {
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

  /** Grant of the session; undefined before the first welcome. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  /** True if the intended node was unreachable and the session is at another one. */
  get hasMissed(): boolean {
    return this.#misses > 0;
  }

  /** Reason for the end of the session, if it is over. */
  get over(): SessionError | undefined {
    return this.#over;
  }

  /** Number of unacknowledged frames. */
  get unacknowledged(): number {
    return this.#kept.size;
  }

  // ---- Commands

  /** Requests an agent. Its number must be free. */
  create(agent: number, name: string): number {
    return this.#keep((number) => ({ type: "create", number, agent, name }));
  }

  /** Ends an agent. */
  end(agent: number): number {
    return this.#keep((number) => ({ type: "end", number, agent }));
  }

  /**
   * Sends a message of an agent.
   *
   * @throws {@link EncodeError} if the message cannot be encoded. Nothing was sent.
   */
  send(agent: number, message: Message): number {
    const sealed = seal(this.form, message, this.#welcome?.message_bytes ?? MESSAGE_BYTES);
    return this.#keep((number) => ({ type: "message", number, agent, message: sealed }));
  }

  /** Encoded length of the last frame's message; 0 if it has none. */
  get lastBytes(): number {
    const last = this.#kept.at(this.#kept.size - 1);
    return last?.type === "message" ? sealedBytes(last.message) : 0;
  }

  /** Requests a certificate for an agent's key. */
  certify(agent: number, request: string): number {
    return this.#keep((number) => ({ type: "certify", number, agent, request }));
  }

  /** Makes an agent durable. If `holds`, its messages leave together with the save behind them. */
  keep(agent: number, policy: OnLeave, holds: boolean): number {
    return this.#keep((number) => ({ type: "keep", number, agent, policy, holds }));
  }

  /**
   * Saves a state that covers messages up to `upto` and those in `also`. `to` and `from` are the destination and origin
   * of a move.
   */
  save(agent: number, upto: number, code: string, state: Uint8Array, also: readonly number[] = [], to: string | null = null, from: string | null = null): number {
    return this.#keep((number) => ({ type: "save", number, agent, upto, code, state, to, also, from }));
  }

  /** Refuses a move of the agent of this name. */
  stays(name: string, text: string): number {
    return this.#keep((number) => ({ type: "stays", number, name, text }));
  }

  /** Requests an agent's code. */
  lacks(agent: number, code: string): number {
    return this.#keep((number) => ({ type: "lacks", number, agent, code }));
  }

  /** Sends an agent's code in parts. Returns the number of the last part. */
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

  /** Answers a challenge, if its connection still exists. */
  prove(challenge: string, signature: Uint8Array): void {
    if (this.#connection?.challenge === challenge && !this.#connection.isWelcome) this.#connection.proof = signature;
  }

  /** Ends the session because the client cannot sign the challenge. */
  cannotProve(text: string): void {
    if (!this.#over) this.#end("unauthorised", text);
  }

  /** Ends the session after all frames are written. */
  bye(): void {
    this.#leaving = true;
  }

  /** Ends the session at once. */
  abandon(text: string): void {
    if (!this.#over) this.#end("bye", text);
  }

  #keep(make: (number: number) => NumberedOutgoing): number {
    if (this.#over) throw this.#over;
    this.#kept.push(make(++this.#last));
    return this.#last;
  }

  // ---- Inputs

  /** The connection is open. */
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

  /** The connection is closed, or could not be opened. */
  handleClosed(now: number, why = "connection lost"): void {
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
    // Another address may work at once.
    this.#failures = connection?.isWelcome || isMiss ? 0 : this.#failures + 1;
    this.#ackDueAt = Infinity;
    const longest = this.#welcome ? Math.min(this.#leaseMs / RECONNECTS_PER_LEASE, RECONNECT_MS_MAX) : RECONNECT_MS_MAX;
    const backoff = Math.min(RECONNECT_MS_MIN * 2 ** this.#failures, longest);
    const wait = this.#failures === 0 ? RECONNECT_MS_MIN : backoff;
    this.#connectAt = now + wait * (0.5 + this.#random() / 2);
    this.#giveUpIfLate(now);
  }

  /** The time of {@link Session.pollTimeout} has come. */
  handleTimeout(now: number): void {
    if (this.#over || this.#giveUpIfLate(now)) return;
    if (now >= this.#dropAt) return this.#drop(now, this.#connection ? "the node is silent" : "no answer from the node");
    if (this.#connection || now < this.#connectAt) return;
    this.#connectAt = Infinity;
    this.#openingSince = now;
    this.#events.push({ type: "connect", ...(this.#place !== undefined && { place: this.#place }) });
  }

  /**
   * Time when the current connection or attempt is given up. A node sends in each third of the lease; after two silent
   * thirds the last one is left for reconnecting. An attempt to resume gets a third, so that several fit in the lease.
   * An attempt at a redirected place gets a quarter, because that place may be behind a firewall.
   */
  get #dropAt(): number {
    const connection = this.#connection;
    if (connection?.isWelcome) return this.#heardAt + (2 * this.#leaseMs) / 3;
    const whole = this.#welcome ? this.#leaseMs : this.#patienceMs;
    const patience = this.#place !== undefined ? whole / 4 : this.#welcome ? whole / 3 : WELCOME_MS_MAX;
    return (connection?.since ?? this.#openingSince) + Math.min(WELCOME_MS_MAX, patience);
  }

  /** The network may be back, or the program woke up: reconnects soon, or tests the connection by a frame. */
  handleOnline(now: number): void {
    if (this.#over) return;
    this.#failures = 0;
    if (this.#connection) this.#spokeAt = -Infinity;
    // Many clients notice it at the same moment, so spread them.
    else if (this.#openingSince === Infinity) this.#connectAt = Math.min(this.#connectAt, now + RECONNECT_MS_MIN * this.#random());
  }

  /** Handles a received frame. */
  handleFrame(bytes: string | Uint8Array, now: number): void {
    const connection = this.#connection;
    if (this.#over || !connection) return;
    // Before the welcome, the sender may be another node that does not know the session.
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
    else if (!connection.isWelcome) this.#fault(now, "protocol", `${frame.type} before the welcome`);
    else if (frame.type === "ack") this.#acknowledged(frame.received, frame.credit, now);
    else if (frame.type === "bye") this.#end("bye", this.#leaving ? "the client left" : "the node left");
    else if ("number" in frame) this.#numbered(frame, now);
    else this.#fault(now, "protocol", `unexpected ${frame.type} from a node`);
  }

  #welcomed(welcome: Welcome, connection: Connection, now: number): void {
    const resumed = this.#welcome !== undefined;
    const fits = welcome.version === SESSION_VERSION && !connection.isWelcome && welcome.remember <= this.#remember;
    if (!fits || (resumed && welcome.session !== this.#welcome?.session)) return this.#fault(now, "protocol", "unexpected welcome");
    this.#welcome = welcome;
    this.#heardAt = now;
    connection.isWelcome = true;
    connection.writer = new FrameWriter(this.form, welcome.remember);
    this.#failures = this.#sendings = 0;
    if (resumed) this.#misses = 0;
    // The node may not have the last `open` list, or may not know that this client sends one.
    this.#listed = UNKNOWN;
    this.#told = this.#received;
    this.#credit = 0;
    this.#events.push({ type: "welcome", welcome, resumed });
    this.#acknowledged(welcome.received, welcome.credit, now);
  }

  /** Handles the one challenge that a node sends before its welcome to a client with a certificate. */
  #challenged(text: string, connection: Connection, now: number): void {
    const isDue = this.#options.certificate !== undefined && !this.#welcome && connection.challenge === undefined;
    if (!isDue) return this.#fault(now, "protocol", "unexpected challenge");
    connection.challenge = text;
    this.#events.push({ type: "challenge", text });
  }

  /** Handles an acknowledgement of all numbers up to `received`. */
  #acknowledged(received: number, credit: number | null, now: number): void {
    const first = this.#last - this.unacknowledged;
    if (received > this.#last || received < first) return this.#fault(now, "protocol", `unexpected acknowledgement of ${received}`);
    const done = received - first;
    this.#kept.drop(done);
    if (this.#connection) this.#connection.written = Math.max(0, this.#connection.written - done);
    this.#credit = Math.max(this.#credit, credit ?? received + (this.#welcome?.window ?? 0));
  }

  #numbered(frame: Extract<Frame, { number: number }>, now: number): void {
    if (frame.number !== this.#received + 1) {
      return this.#fault(now, "protocol", `unexpected frame number ${frame.number}, expected ${this.#received + 1}`);
    }
    const event = eventOf(frame);
    if (!event) return this.#fault(now, "protocol", `unexpected ${frame.type} from a node`);
    this.#received = frame.number;
    this.isStale = true;
    this.#events.push(event);
    this.#ackDueAt = this.owesMuch ? now : Math.min(this.#ackDueAt, now + ACK_DELAY_MS);
  }

  /** Handles the node's reason for ending the connection. */
  #failed(code: Code, text: string, now: number): void {
    // The node read the `bye` before the connection broke.
    if (this.#leaving && code === "session-gone") return this.#end("bye", "the client left");
    if (this.#welcome && code === "taken-over") return this.#takenOver(text, now);
    if (code === "elsewhere" && this.#options.follows) return this.#sent(text, now);
    const mayTryAgain = this.#welcome === undefined ? code === "busy" : !FINAL.includes(code);
    if (!mayTryAgain || this.#rejected.add(this.#last - this.unacknowledged)) return this.#end(code, text);
    this.#drop(now, `${code}: ${text}`);
  }

  /**
   * Handles a takeover. A delayed older connection of this client may have caused it, so the client resumes once. If
   * another program has the session, both take it from each other, and the first to lose it twice within two leases
   * ends.
   */
  #takenOver(text: string, now: number): void {
    const isAgain = now - this.#takenOverAt < 2 * this.#leaseMs;
    this.#takenOverAt = now;
    if (isAgain) this.#end("taken-over", text);
    else this.#drop(now, `taken-over: ${text}`);
  }

  /**
   * Handles a redirection to `place`, or to an unknown place. If that node is unreachable, the original address is
   * tried.
   */
  #sent(place: string, now: number): void {
    if (++this.#sendings > SENDINGS_MAX) return this.#end("elsewhere", `redirected ${SENDINGS_MAX} times in a row`);
    this.#place = undefined;
    this.#drop(now, `the session is at another node: ${place || "unknown"}`);
    if (place === "" || this.#misses >= MISSES_MAX) return;
    this.#place = place;
    if (this.#sendings <= SENDINGS_AT_ONCE) this.#connectAt = now;
  }

  /** Drops the connection after an invalid frame. Another connection may work. */
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
    this.#end(isNew ? "unreachable" : "lease-over", isNew ? this.#why : `no connection for the whole lease: ${this.#why}`);
    return true;
  }

  /**
   * Time of the next sign of life. A node wants one in each third of the lease. Sending one in each quarter leaves time
   * to reconnect.
   */
  get #speakAt(): number {
    return this.#spokeAt + this.#leaseMs / 4;
  }

  /** Time when reconnecting becomes pointless. */
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

  // ---- Outputs

  /** True if so many frames are not acknowledged that the node may soon have to wait. */
  get owesMuch(): boolean {
    return this.#received - this.#told >= (this.#welcome?.window ?? Infinity) / 4;
  }

  /** Returns the next event. */
  pollEvent(): SessionEvent | undefined {
    return this.#events.shift();
  }

  /** Returns the time to call {@link Session.handleTimeout} or to poll for frames. */
  pollTimeout(): number {
    if (this.#over) return Infinity;
    const next = Math.min(this.#giveUpAt, this.#dropAt, this.#connectAt);
    return this.#connection?.isWelcome ? Math.min(next, this.#ackDueAt, this.#speakAt) : next;
  }

  /** Returns the next frame to write. */
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
    const next = this.#kept.at(connection.written);
    if (this.isStale && this.#listed) this.#ackDueAt = Math.min(this.#ackDueAt, now + ACK_DELAY_MS);
    // Report handled messages before an agent or the session ends.
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

/** Converts a numbered frame to an event; undefined for frames that no node sends. */
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

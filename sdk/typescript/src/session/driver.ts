/** Driver of a session: connects, moves frames, keeps time. */
import type { SessionStart, SessionEvent, SessionOptions } from "./session.js";
import { Session } from "./session.js";
import type { Connect, Transport, TransportEvents } from "./transport.js";

/**
 * Signs a node's challenge with the key of the client's certificate. `place` is the node's place, if the client was
 * redirected.
 */
export type Sign = (challenge: string, place: string | undefined) => Promise<Uint8Array>;

/**
 * Events of pages and Workers that end a silence: `online` for the network, `pageshow` for a page from the cache,
 * `resume` for a page that was frozen.
 */
export const WAKE_EVENTS = ["online", "pageshow", "resume"] as const;

/** A running session. Call {@link Driver.pump} after changes to `session`. */
export class Driver {
  readonly session: Session;
  readonly #connect: Connect;
  readonly #sign: Sign | undefined;
  readonly #handle: (event: SessionEvent) => void;
  #transport: Transport | undefined;
  /** Place that the session was redirected to, if any. */
  #place: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Time of the timer. */
  #timerAt = Infinity;
  #isPumpDue = false;

  constructor(options: SessionOptions, connect: Connect, sign: Sign | undefined, handle: (event: SessionEvent) => void, beginning: SessionStart = {}) {
    this.#connect = connect;
    this.#sign = sign;
    this.#handle = handle;
    this.session = new Session(options, now(), Math.random, beginning);
    for (const type of WAKE_EVENTS) globalThis.addEventListener?.(type, this.#online);
    this.pump();
  }

  readonly #online = (): void => {
    this.session.handleOnline(now());
    this.pump();
  };

  /** Processes events and writes frames in the next microtask, so that one burst of messages is written at once. */
  pump(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pumpNow();
    });
  }

  #pumpNow(): void {
    try {
      this.#move();
    } finally {
      // The timer must run even after an error.
      this.#sleep();
    }
  }

  #move(): void {
    const { session } = this;
    for (let event = session.pollEvent(); event; event = session.pollEvent()) this.#happened(event);
    const time = now();
    for (let frame = session.pollFrame(time); frame && this.#transport; frame = session.pollFrame(time)) this.#transport.send(frame);
  }

  #sleep(): void {
    const due = this.session.pollTimeout();
    // A timer that fires too early only looks again.
    if (this.#timer !== undefined && this.#timerAt <= due && due !== Infinity) return;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timerAt = due;
    this.#timer = due === Infinity ? undefined : setTimeout(() => this.#wake(), Math.max(0, Math.ceil(due - now())));
  }

  #wake(): void {
    this.#timer = undefined;
    this.session.handleTimeout(now());
    this.#pumpNow();
  }

  #happened(event: SessionEvent): void {
    if (event.type === "connect") this.#open(event.place);
    else if (event.type === "disconnect") this.#close();
    else if (event.type === "challenge") void this.#prove(event.text);
    else this.#tell(event);
    if (event.type !== "over") return;
    for (const type of WAKE_EVENTS) globalThis.removeEventListener?.(type, this.#online);
    this.#close();
  }

  async #prove(challenge: string): Promise<void> {
    try {
      if (!this.#sign) throw new Error("the certificate has no key: pass `key` to connect");
      this.session.prove(challenge, await this.#sign(challenge, this.#place));
    } catch (error) {
      this.session.cannotProve(error instanceof Error ? error.message : String(error));
    }
    this.pump();
  }

  /** Reports an event. An error in one handler must not stop the events after it. */
  #tell(event: SessionEvent): void {
    try {
      this.#handle(event);
    } catch (error) {
      console.error(`whimbrel: handling "${event.type}":`, error);
    }
  }

  #close(): void {
    this.#transport?.close();
    this.#transport = undefined;
  }

  #open(place: string | undefined): void {
    const { session } = this;
    this.#place = place;
    let transport: Transport | undefined;
    const isCurrent = (): boolean => transport !== undefined && this.#transport === transport;
    const events: TransportEvents = {
      onOpen: () => {
        if (!isCurrent()) return;
        session.handleConnected(now());
        this.pump();
      },
      onFrame: (frame) => {
        if (!isCurrent()) return;
        session.handleFrame(frame, now());
        // There may be more to read: the node can send on meanwhile.
        if (session.owesMuch) this.#move();
        this.pump();
      },
      onClose: (why) => {
        if (!isCurrent()) return;
        this.#transport = undefined;
        session.handleClosed(now(), why);
        this.pump();
      },
    };
    try {
      transport = this.#connect(events, place);
    } catch (error) {
      session.handleClosed(now(), error instanceof Error ? error.message : String(error));
      this.pump();
    }
    this.#transport = transport;
  }
}

/** Monotonic time in milliseconds. */
function now(): number {
  return performance.now();
}

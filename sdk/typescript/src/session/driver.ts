/** Runs a session: connects, moves frames, keeps time. */
import type { Beginning, SessionEvent, SessionOptions } from "./session.js";
import { Session } from "./session.js";
import type { Connect, Transport, TransportEvents } from "./transport.js";

/** Signs what a node wants signed, with the key of the certificate that is shown to it, at the place where it was sent if it was. */
export type Sign = (challenge: string, place: string | undefined) => Promise<Uint8Array>;

/**
 * What pages and Workers hear when the network is there again, or when the page was frozen or hidden and its timers with it: `online`
 * tells of the network, `pageshow` of a page that comes out of the cache, `resume` of one that was frozen.
 */
export const WAKING = ["online", "pageshow", "resume"] as const;

/** A session that runs. Whatever is done to `session` shows after {@link Driver.pump}. */
export class Driver {
  readonly session: Session;
  readonly #connect: Connect;
  readonly #sign: Sign | undefined;
  readonly #handle: (event: SessionEvent) => void;
  #transport: Transport | undefined;
  /** Where that leads, if a node said so. */
  #place: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPumpDue = false;

  constructor(options: SessionOptions, connect: Connect, sign: Sign | undefined, handle: (event: SessionEvent) => void, beginning: Beginning = {}) {
    this.#connect = connect;
    this.#sign = sign;
    this.#handle = handle;
    this.session = new Session(options, now(), Math.random, beginning);
    for (const type of WAKING) globalThis.addEventListener?.(type, this.#online);
    this.pump();
  }

  readonly #online = (): void => {
    this.session.handleOnline(now());
    this.pump();
  };

  /** Lets follow what follows, soon: what a program says in one go is written in one go. */
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
      // Whatever went wrong: the session goes on.
      this.#sleep();
    }
  }

  #move(): void {
    const { session } = this;
    for (let event = session.pollEvent(); event; event = session.pollEvent()) this.#happened(event);
    for (let frame = session.pollFrame(now()); frame && this.#transport; frame = session.pollFrame(now())) this.#transport.send(frame);
  }

  #sleep(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    const due = this.session.pollTimeout();
    this.#timer = due === Infinity ? undefined : setTimeout(() => this.#wake(), Math.max(0, Math.ceil(due - now())));
  }

  #wake(): void {
    this.session.handleTimeout(now());
    this.#pumpNow();
  }

  #happened(event: SessionEvent): void {
    if (event.type === "connect") this.#open(event.place);
    else if (event.type === "disconnect") this.#close();
    else if (event.type === "challenge") void this.#prove(event.text);
    else this.#tell(event);
    if (event.type !== "over") return;
    for (const type of WAKING) globalThis.removeEventListener?.(type, this.#online);
    this.#close();
  }

  async #prove(challenge: string): Promise<void> {
    try {
      if (!this.#sign) throw new Error("the key of the certificate is not here");
      this.session.prove(challenge, await this.#sign(challenge, this.#place));
    } catch (error) {
      this.session.cannotProve(error instanceof Error ? error.message : String(error));
    }
    this.pump();
  }

  /** What goes wrong with one event is no concern of those behind it. */
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

/** Milliseconds of a clock that does not go back. */
function now(): number {
  return performance.now();
}

import { WhimbrelError } from "../acl/errors.js";
import { RefusedError, StayedError } from "../agents/errors.js";
import { CODES, type Code } from "../session/frames.js";
import { SessionError } from "../session/session.js";
import type { WorkerFault, JoinOrder, WorkerReport, Order } from "./protocol.js";

/** The part of the standard's `Worker` that is used. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "error", listener: (event: { readonly message?: string }) => void): void;
  terminate(): unknown;
}

type ForwardedReport = Exclude<WorkerReport, { readonly type: "done" | "failed" | "spawned" | "turn" }>;
type Numbered = Extract<Order, { readonly id: number }>;
/** An order without its number. */
export type WorkerQuery = Numbered extends infer One ? (One extends Numbered ? Omit<One, "id"> : never) : never;

interface PendingAnswer {
  done(value: unknown): void;
  failed(error: Error): void;
}

/** Channel to a Worker, on the page's side. */
export class WorkerChannel {
  readonly #worker: WorkerLike;
  readonly #waiting = new Map<number, PendingAnswer>();
  readonly #tell: (report: ForwardedReport) => void;
  #last = 0;
  #askedAt = Infinity;
  /** Reason of its end, if it was terminated. */
  #terminated: WhimbrelError | undefined;
  /** Agents that had the turn at the last report. */
  turn: readonly number[] = [];
  agentsMax = 0;
  platform = "";
  #closed: (() => void) | undefined;
  /** Resolves when the Worker's session is over, or the Worker could not be loaded. */
  readonly closed: Promise<void> = new Promise((resolve) => (this.#closed = resolve));

  constructor(worker: WorkerLike, tell: (report: ForwardedReport) => void) {
    this.#worker = worker;
    this.#tell = tell;
    worker.addEventListener("message", ({ data }) => this.#heard(data as WorkerReport));
    worker.addEventListener("error", ({ message }) => this.#heard({ type: "closed", fault: { name: "Error", message: message ?? "the Worker cannot be loaded", code: undefined } }));
  }

  /** Begins the Worker's session. */
  join(order: JoinOrder): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(0, { done: () => resolve(), failed: reject });
      this.#worker.postMessage(order);
    });
  }

  /** Returns a new number for an order, for callers that need it before they ask. */
  number(): number {
    return ++this.#last;
  }

  /** Sends an order, and returns the answer. */
  ask(order: WorkerQuery, id = this.number()): Promise<unknown> {
    return new Promise((done, failed) => {
      if (this.#terminated) return failed(this.#terminated);
      this.#waiting.set(id, { done, failed });
      this.#worker.postMessage({ ...order, id });
    });
  }

  /** Sends an order that has no answer. */
  say(order: Order): void {
    this.#worker.postMessage(order);
  }

  /** Returns true if the Worker has not answered for `ms` milliseconds. Also sends the next ping. */
  isStuckFor(ms: number): boolean {
    const isStuck = performance.now() - this.#askedAt > ms;
    if (this.#askedAt === Infinity) {
      this.#askedAt = performance.now();
      void this.ask({ type: "ping" }).catch(() => undefined);
    }
    return isStuck;
  }

  /** Forgets the pending ping, because the page itself was asleep. */
  forgive(): void {
    this.#askedAt = Infinity;
  }

  /** Terminates the Worker at once. */
  terminate(why: string): void {
    this.#worker.terminate();
    this.#terminated ??= new WhimbrelError(why);
    for (const { failed } of this.#waiting.values()) failed(this.#terminated);
    this.#waiting.clear();
  }

  #heard(report: WorkerReport): void {
    this.#askedAt = Infinity;
    switch (report.type) {
      case "joined":
        this.agentsMax = report.agentsMax;
        this.platform = report.platform;
        this.#settle(0, (waiting) => waiting.done(undefined));
        return this.#tell(report);
      case "turn":
        this.turn = report.ids;
        return;
      case "done":
        return this.#settle(report.id, (waiting) => waiting.done(report.value));
      case "spawned":
        return this.#settle(report.id, (waiting) => waiting.done(report.name));
      case "failed":
        return this.#settle(report.id, (waiting) => waiting.failed(errorOf(report.fault)));
      case "closed":
        this.#settle(0, (waiting) => waiting.failed(errorOf(report.fault)));
        this.#closed?.();
        return this.#tell(report);
      default:
        return this.#tell(report);
    }
  }

  #settle(id: number, how: (waiting: PendingAnswer) => void): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting) how(waiting);
  }
}

/** Restores an error of the Worker, with its class if that is known. */
export function errorOf({ name, message, code }: WorkerFault): Error {
  const text = code !== undefined && message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;
  if (name === "RefusedError" && CODES.includes(code as Code)) return new RefusedError(code as Code, text);
  if (name === "StayedError" && code !== undefined) return new StayedError(code, message);
  if (name === "SessionError" && code !== undefined) return new SessionError(code as Code, text);
  return new WhimbrelError(name === "WhimbrelError" || name === "Error" ? message : `${name}: ${message}`);
}

/** What a page and its Workers say to each other. */
import type { Value } from "../acl/value.js";
import type { ConnectOptions } from "../agents/connect.js";
import type { Keep } from "../agents/keeper.js";

/** How a Worker begins its session. */
export interface JoinOrder {
  readonly type: "join";
  readonly url: string;
  readonly token: string | undefined;
  /** A certificate and its key, which the Worker cannot export either. */
  readonly certificate: string | undefined;
  readonly key: CryptoKey | undefined;
  readonly leaseMs: number | undefined;
  readonly compact: boolean;
  /** Where the AgentSpeak engine is. */
  readonly engine: string | undefined;
  /** The name of the place that its agents are on: the device's. */
  readonly place: string;
  /** Whether WebAssembly agents may keep something beside their memory. */
  readonly storage: boolean;
  /** Whether its agents go elsewhere when somebody else wants that. */
  readonly yields: boolean;
  /** Whether it tells whose turn it is: the one whose place it took was stuck, and nobody knows in whom. */
  readonly isWatched?: boolean;
}

/** What lets a session of the device in, and for how long it outlives its connection. */
export function credentials({ token, certificate, key, leaseMs }: { readonly [Name in "token" | "certificate" | "key" | "leaseMs"]?: ConnectOptions[Name] | undefined }): ConnectOptions {
  return { ...(token !== undefined && { token }), ...(certificate !== undefined && { certificate }), ...(key !== undefined && { key }), ...(leaseMs !== undefined && { leaseMs }) };
}

/** What a page wants of a Worker. Numbers find the answers. */
export type Order =
  | JoinOrder
  | { readonly type: "spawn"; readonly id: number; readonly name: string; readonly module: string; readonly data: unknown; readonly keep: Keep | undefined }
  /** An agent comes from elsewhere; `module` is where its code is, if that is TypeScript. */
  | { readonly type: "accept"; readonly id: number; readonly name: string; readonly code: string; readonly module: string | undefined }
  | { readonly type: "move"; readonly id: number; readonly agent: number; readonly to: string }
  | { readonly type: "mind"; readonly id: number; readonly agent: number }
  | { readonly type: "end"; readonly id: number }
  | { readonly type: "suspend"; readonly id: number; readonly suspended: boolean }
  | { readonly type: "work"; readonly id: number; readonly module: string; readonly part: Value }
  | { readonly type: "weigh"; readonly id: number }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "leave" };

/** An error as it crosses from a Worker. */
export interface Fault {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
}

/** What a Worker tells its page. */
export type News =
  | { readonly type: "joined"; readonly platform: string; readonly agentsMax: number }
  | { readonly type: "connection"; readonly isConnected: boolean; readonly why: string | undefined }
  | { readonly type: "spawned"; readonly id: number; readonly name: string }
  | { readonly type: "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly fault: Fault }
  | { readonly type: "ended"; readonly id: number; readonly reason: string }
  | { readonly type: "trouble"; readonly agent: string; readonly fault: Fault }
  /** These have their turn, or one of them: of a society nobody knows whom. */
  | { readonly type: "turn"; readonly ids: readonly number[] }
  | { readonly type: "printed"; readonly agent: string; readonly text: string }
  | { readonly type: "closed"; readonly fault: Fault };

/** One end of the line between them. */
export interface Port<Out, In> {
  postMessage(message: Out): void;
  addEventListener(type: "message", listener: (event: { readonly data: In }) => void): void;
}

export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), code: undefined };
  const { code, why } = error as { readonly code?: unknown; readonly why?: unknown };
  const word = code ?? why;
  return { name: error.name, message: error.message, code: typeof word === "string" ? word : undefined };
}

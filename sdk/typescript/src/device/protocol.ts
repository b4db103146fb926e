/** Messages between a page and its Workers. */
import type { Value } from "../acl/value.js";
import type { ConnectOptions } from "../agents/connect.js";
import type { Keep } from "../agents/saver.js";

/** Order that begins a Worker's session. */
export interface JoinOrder {
  readonly type: "join";
  readonly url: string;
  readonly token: string | undefined;
  /** Certificate and key. The Worker cannot export the key either. */
  readonly certificate: string | undefined;
  readonly key: CryptoKey | undefined;
  readonly leaseMs: number | undefined;
  readonly compact: boolean;
  /** Address of the AgentSpeak engine. */
  readonly engine: string | undefined;
  /** Name of the agents' place: the device's name. */
  readonly place: string;
  /** True if WebAssembly agents may store data beside their memory. */
  readonly storage: boolean;
  /** True if agents move away when others ask for that. */
  readonly yields: boolean;
  /** True if it reports which agent has its turn, because its predecessor got stuck for an unknown reason. */
  readonly isWatched?: boolean;
}

/** Connect options of the device's sessions: credentials and lease. */
export function credentials({ token, certificate, key, leaseMs }: { readonly [Name in "token" | "certificate" | "key" | "leaseMs"]?: ConnectOptions[Name] | undefined }): ConnectOptions {
  return { ...(token !== undefined && { token }), ...(certificate !== undefined && { certificate }), ...(key !== undefined && { key }), ...(leaseMs !== undefined && { leaseMs }) };
}

/** Order of a page to a Worker. The number identifies the answer. */
export type Order =
  | JoinOrder
  | { readonly type: "spawn"; readonly id: number; readonly name: string; readonly module: string; readonly data: unknown; readonly keep: Keep | undefined }
  /** An agent arrives from another place; `module` is the address of its TypeScript code. */
  | { readonly type: "accept"; readonly id: number; readonly name: string; readonly code: string; readonly module: string | undefined }
  | { readonly type: "move"; readonly id: number; readonly agent: number; readonly to: string }
  | { readonly type: "mind"; readonly id: number; readonly agent: number }
  | { readonly type: "end"; readonly id: number }
  | { readonly type: "suspend"; readonly id: number; readonly suspended: boolean }
  | { readonly type: "work"; readonly id: number; readonly module: string; readonly part: Value }
  | { readonly type: "weigh"; readonly id: number }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "leave" };

/** An error in a form that can leave a Worker. */
export interface WorkerFault {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
}

/** Report of a Worker to its page. */
export type WorkerReport =
  | { readonly type: "joined"; readonly platform: string; readonly agentsMax: number }
  | { readonly type: "connection"; readonly isConnected: boolean; readonly why: string | undefined }
  | { readonly type: "spawned"; readonly id: number; readonly name: string }
  | { readonly type: "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly fault: WorkerFault }
  | { readonly type: "ended"; readonly id: number; readonly reason: string }
  | { readonly type: "trouble"; readonly agent: string; readonly fault: WorkerFault }
  /** One of these agents has its turn. A society reports all its agents. */
  | { readonly type: "turn"; readonly ids: readonly number[] }
  | { readonly type: "printed"; readonly agent: string; readonly text: string }
  | { readonly type: "closed"; readonly fault: WorkerFault };

/** One end of the channel between page and Worker. */
export interface Port<Out, In> {
  postMessage(message: Out): void;
  addEventListener(type: "message", listener: (event: { readonly data: In }) => void): void;
}

export function faultOf(error: unknown): WorkerFault {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), code: undefined };
  const { code, why } = error as { readonly code?: unknown; readonly why?: unknown };
  const word = code ?? why;
  return { name: error.name, message: error.message, code: typeof word === "string" ? word : undefined };
}

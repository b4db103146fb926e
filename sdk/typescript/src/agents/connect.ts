import { WhimbrelError } from "../acl/errors.js";
import type { SessionOptions } from "../session/session.js";
import { addressAt, webSocket, type Connect, type WebSocketClass } from "../session/transport.js";
import { proofOf } from "./identity.js";
import { Platform } from "./platform.js";

/** Options of a connection. */
export interface ConnectOptions extends SessionOptions {
  /** WebSocket class to use where there is no global one, such as that of package `ws` in Node 20. */
  readonly WebSocket?: WebSocketClass;
  /** Transport of frames instead of a WebSocket. */
  readonly transport?: Connect;
  /**
   * Private key of `certificate`, for Ed25519 or for ECDSA with P-256. It may be non-exportable ({@link importKey}).
   */
  readonly key?: CryptoKey;
  /** Aborts connecting. It has no effect once the session exists. */
  readonly signal?: AbortSignal;
}

/**
 * Begins a session with the node whose gateway is at `url`: `wss://host/session`, or the address of its console.
 *
 * ```ts
 * const platform = await connect("wss://node.example/session", { token });
 * const bob = await platform.create("bob", (agent) => {
 *   agent.onMessage((message) => agent.reply(message, "inform", "hello"));
 * });
 * ```
 *
 * @throws {@link SessionError} if the node refuses the client, or no node answers within `patienceMs`.
 */
export async function connect(url: string | URL, options: ConnectOptions = {}): Promise<Platform> {
  const { key, signal, transport } = options;
  const sign = key && ((challenge: string, place?: string) => proofOf(key, addressAt(url, place).host, challenge));
  return Platform.begin(options, transport ?? webSocket(webSocketUrl(url), options.WebSocket), { signal, sign });
}

/** Path of sessions at gateways. */
const SESSION_PATH = "/session";

function webSocketUrl(url: string | URL): string {
  const address = new URL(url);
  const protocol = address.protocol.replace(/^http/, "ws");
  if (protocol !== "ws:" && protocol !== "wss:") {
    throw new WhimbrelError(`cannot connect to ${address.protocol}//: use ws:// or wss://, or import whimbrel/node for tcp:// and tls://`);
  }
  address.protocol = protocol;
  address.hash = "";
  if (address.pathname === "/") address.pathname = SESSION_PATH;
  return address.href;
}

import { WhimbrelError } from "../acl/errors.js";
import type { SessionOptions } from "../session/session.js";
import { addressAt, webSocket, type Connect, type WebSocketClass } from "../session/transport.js";
import { proofOf } from "./identity.js";
import { Platform } from "./platform.js";

/** How to connect. */
export interface ConnectOptions extends SessionOptions {
  /** The class of WebSockets, where there is no global one: that of package `ws` in Node 20. */
  readonly WebSocket?: WebSocketClass;
  /** What carries frames instead of a WebSocket. */
  readonly transport?: Connect;
  /** The key of `certificate`, for Ed25519 or for ECDSA with P-256; it may be one that cannot be exported ({@link importKey}). */
  readonly key?: CryptoKey;
  /** Gives up connecting when this says so, with its reason. Once there is a session it changes nothing. */
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
 * @throws {@link SessionError} if the node does not let the client in, or none answers within `patienceMs`.
 */
export async function connect(url: string | URL, options: ConnectOptions = {}): Promise<Platform> {
  const { key, signal, transport } = options;
  const sign = key && ((challenge: string, place?: string) => proofOf(key, addressAt(url, place).host, challenge));
  return Platform.begin(options, transport ?? webSocket(webSocketUrl(url), options.WebSocket), { signal, sign });
}

/** Where gateways have their sessions. */
const SESSION_PATH = "/session";

function webSocketUrl(url: string | URL): string {
  const address = new URL(url);
  const protocol = address.protocol.replace(/^http/, "ws");
  if (protocol !== "ws:" && protocol !== "wss:") {
    throw new WhimbrelError(`${address.protocol} is no WebSocket's address: tcp:// and tls:// are for whimbrel/node`);
  }
  address.protocol = protocol;
  address.hash = "";
  if (address.pathname === "/") address.pathname = SESSION_PATH;
  return address.href;
}

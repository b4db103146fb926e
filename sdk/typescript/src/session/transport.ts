/** Transports of frames. WebSocket is here; TCP and TLS are in `whimbrel/node`. */
import { WhimbrelError } from "../acl/errors.js";

/** Events of a transport. `onClose` is the last one. */
export interface TransportEvents {
  onOpen(): void;
  onFrame(frame: string | Uint8Array): void;
  onClose(why: string): void;
}

/** A connection, open or opening. */
export interface Transport {
  /** Sends a frame. */
  send(frame: string | Uint8Array): void;
  /** Closes the connection after pending writes. `onClose` may follow. */
  close(): void;
}

/**
 * Opens a connection to the usual address, or to `place`: `HOST:PORT`, or `:PORT` at the same host. A place comes from
 * a node's redirection.
 */
export type Connect = (events: TransportEvents, place?: string) => Transport;

/**
 * Returns the address of the node at `place`, with the rest of `url`.
 *
 * @throws {@link WhimbrelError} if `place` is malformed.
 */
export function addressAt(url: string | URL, place: string | undefined): URL {
  const address = new URL(url);
  if (place === undefined) return address;
  const [, host = "", port] = /^([\w.-]*|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(place) ?? [];
  if (port === undefined) throw new WhimbrelError(`invalid place of a node: ${place}`);
  address.host = `${host || address.hostname}:${port}`;
  return address;
}

/** The used part of the standard `WebSocket`: the browser's, Node's from version 22 on, or that of package `ws`. */
export interface WebSocketLike {
  binaryType: string;
  send(data: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

/** Constructor of a {@link WebSocketLike}. */
export type WebSocketClass = new (url: string, protocols: string) => WebSocketLike;

/** The WebSocket subprotocol of sessions. */
export const SUBPROTOCOL = "whimbrel.v1";

/**
 * Connects by WebSocket: JSON in text messages, compact frames in binary ones.
 *
 * @throws {@link WhimbrelError} if there is no `WebSocket` class.
 */
export function webSocket(url: string, given?: WebSocketClass): Connect {
  const found = given ?? (globalThis as { readonly WebSocket?: WebSocketClass }).WebSocket;
  if (found === undefined) {
    throw new WhimbrelError("no WebSocket in this version of Node: use Node 22, pass the class of package ws as `WebSocket`, or connect to tcp:// with whimbrel/node");
  }
  return (events, place) => {
    const socket = new found(addressAt(url, place).href, SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    let isOpen = true;
    const close = (why: string): void => {
      if (isOpen) events.onClose(why);
      isOpen = false;
    };
    socket.addEventListener("open", () => isOpen && events.onOpen());
    socket.addEventListener("message", ({ data }) => {
      if (!isOpen) return;
      events.onFrame(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
    });
    socket.addEventListener("error", () => undefined);
    socket.addEventListener("close", ({ code, reason }) => close(reason || `WebSocket closed (${code})`));
    return {
      send: (frame) => socket.send(frame),
      close: () => {
        isOpen = false;
        socket.close(1000);
      },
    };
  };
}

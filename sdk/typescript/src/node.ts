/**
 * Additions for Node: sessions over TCP and TLS.
 *
 * ```ts
 * import { connect } from "whimbrel/node";
 *
 * const platform = await connect("tcp://127.0.0.1:7002", { token: process.env.WHIMBREL_AGENT_TOKEN });
 * ```
 *
 * @packageDocumentation
 */
import { readFile } from "node:fs/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { connect as connectWeb, type ConnectOptions } from "./agents/connect.js";
import { importKey } from "./agents/identity.js";
import type { Platform } from "./agents/platform.js";
import { WhimbrelError } from "./acl/errors.js";
import { FRAME_OVERHEAD_BYTES, MESSAGE_BYTES } from "./session/limits.js";
import { addressAt, type Connect, type TransportEvents } from "./session/transport.js";

export * from "./index.js";

/** Name in every node's certificate. */
const NODE_NAME = "node.whimbrel";
/** Time limit for opening a connection. */
const CONNECT_MS_MAX = 10_000;

/** Frames of one write: enough to save calls of the system, and so few that node and peer can work meanwhile. */
const FRAMES_A_WRITE = 16;

/** Connect options for TCP and TLS. */
export interface NodeConnectOptions extends Omit<ConnectOptions, "certificate" | "key"> {
  /** Certificate of the platform's authority, as PEM. It authenticates the node (`tls://`). */
  readonly authority?: string | Uint8Array;
  /** Certificate of the authority for this client, with its key, as PEM. Replaces a token (`tls://`, WebSockets). */
  readonly certificate?: string | Uint8Array;
  readonly key?: string | Uint8Array | CryptoKey;
}

/**
 * Begins a session with the node at `url`: `tcp://host:port` or `tls://host:port` of its agent port, or the address of
 * a WebSocket as in browsers.
 *
 * @throws {@link SessionError} if the node refuses the client, or cannot be reached.
 */
export async function connect(url: string | URL, options: NodeConnectOptions = {}): Promise<Platform> {
  const address = new URL(url);
  const { certificate, key, ...others } = options;
  // TLS itself presents and proves the certificate.
  if (!options.transport && (address.protocol === "tcp:" || address.protocol === "tls:")) return connectWeb(address, { ...others, transport: tcp(address, options) });
  const pem = textOf(certificate);
  const own = isPem(key) ? await importKey(textOf(key)) : key;
  return connectWeb(address, { ...others, ...(pem !== undefined && { certificate: pem }), ...(own && { key: own }) });
}

const isPem = (key: string | Uint8Array | CryptoKey | undefined): key is string | Uint8Array => typeof key === "string" || key instanceof Uint8Array;

function textOf(pem: string | Uint8Array): string;
function textOf(pem: string | Uint8Array | undefined): string | undefined;
function textOf(pem: string | Uint8Array | undefined): string | undefined {
  return pem instanceof Uint8Array ? new TextDecoder().decode(pem) : pem;
}

/**
 * Loads the AgentSpeak engine of this package, for `Society.load` of `whimbrel/agentspeak`. Node cannot fetch files.
 */
export async function agentSpeakEngine(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(new URL("./agentspeak.wasm", import.meta.url)));
}

/** Connects by TCP or TLS. Each frame follows its length. */
export function tcp(address: URL, options: NodeConnectOptions = {}): Connect {
  if (Number(address.port) === 0) throw new WhimbrelError(`${address.href} has no port: use tcp://HOST:PORT`);
  const { authority: ca, certificate: cert, key } = options;
  if (key !== undefined && !isPem(key)) throw new WhimbrelError("over TLS, pass the key as PEM");
  const [caText, certText, keyText] = [textOf(ca), textOf(cert), textOf(key)];
  const frameBytesMax = (options.messageBytes ?? MESSAGE_BYTES) + FRAME_OVERHEAD_BYTES;
  return (events, place) => {
    const { hostname, port: digits } = addressAt(address, place);
    const [host, port] = [hostname.replace(/^\[|\]$/g, ""), Number(digits)];
    if (address.protocol === "tcp:") return framed(connectTcp({ host, port }), "connect", events, frameBytesMax);
    const socket = connectTls({
      host,
      port,
      servername: NODE_NAME,
      minVersion: "TLSv1.3",
      ...(caText !== undefined && { ca: caText }),
      ...(certText !== undefined && { cert: certText }),
      ...(keyText !== undefined && { key: keyText }),
    });
    return framed(socket, "secureConnect", events, frameBytesMax);
  };
}

function framed(socket: Socket, opened: string, events: TransportEvents, frameBytesMax: number): ReturnType<Connect> {
  const frames = new FrameSplitter(frameBytesMax);
  let why = "connection closed";
  let isOpen = true;
  socket.setNoDelay(true);
  const patience = setTimeout(() => socket.destroy(new Error("no answer from the node")), CONNECT_MS_MAX);
  socket.on(opened, () => {
    clearTimeout(patience);
    if (isOpen) events.onOpen();
  });
  socket.on("data", (data: Uint8Array) => {
    if (!isOpen) return;
    const isFine = frames.push(data, (frame) => isOpen && events.onFrame(frame));
    if (!isFine) socket.destroy(new Error("the node sent a frame longer than agreed"));
  });
  socket.on("error", (error: Error) => (why = error.message));
  socket.on("close", () => {
    clearTimeout(patience);
    if (isOpen) events.onClose(why);
    isOpen = false;
  });
  const waiting: (string | Uint8Array)[] = [];
  // Frames of one burst leave together: each write of a socket is a call of the system.
  const flush = (): void => {
    if (waiting.length > 0) socket.write(joined(waiting));
    waiting.length = 0;
  };
  return {
    send: (frame) => {
      const count = waiting.push(frame);
      if (count === 1) queueMicrotask(flush);
      // The node begins with the first ones meanwhile.
      if (count === FRAMES_A_WRITE) flush();
    },
    close: () => {
      isOpen = false;
      clearTimeout(patience);
      flush();
      // Do not wait for the node to close its end.
      if (socket.connecting) socket.destroy();
      else socket.end(() => socket.destroySoon());
    },
  };
}

/** Returns frames, each with its length before it. */
function joined(frames: readonly (string | Uint8Array)[]): Buffer {
  const lengths = frames.map((frame) => (typeof frame === "string" ? Buffer.byteLength(frame) : frame.length));
  const whole = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, 0));
  let at = 0;
  for (const [index, frame] of frames.entries()) {
    at = whole.writeUInt32BE(lengths[index] ?? 0, at);
    if (typeof frame === "string") at += whole.write(frame, at);
    else {
      whole.set(frame, at);
      at += frame.length;
    }
  }
  return whole;
}

/** Splits a byte stream into frames. */
export class FrameSplitter {
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(readonly frameBytesMax: number) {}

  /** Adds data, and calls `give` with each complete frame. Returns false if a frame is too long. */
  push(data: Uint8Array, give: (frame: Uint8Array) => void): boolean {
    this.#pieces.push(data);
    this.#length += data.length;
    if (this.#length < 4) return true;
    let [bytes] = this.#joined(4);
    let at = 0;
    for (;;) {
      const left = this.#length - at;
      if (left < 4) break;
      if (bytes.length - at < 4) [bytes] = this.#joined(this.#length);
      const length = new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0);
      if (length > this.frameBytesMax) return false;
      if (left < 4 + length) break;
      if (bytes.length - at < 4 + length) [bytes] = this.#joined(this.#length);
      at += 4 + length;
      give(bytes.subarray(at - length, at));
    }
    if (at === 0) return true;
    const [whole] = this.#joined(this.#length);
    this.#pieces = at < whole.length ? [whole.subarray(at)] : [];
    this.#length -= at;
    return true;
  }

  /** Joins the pieces until the first has at least `bytes` bytes. */
  #joined(bytes: number): [Uint8Array] {
    const [first] = this.#pieces;
    if (first && first.length >= bytes) return [first];
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [whole];
    return [whole];
  }
}

/** What stands between an agent and its node in tests: a network that breaks, and a door for WebSockets. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { Frames } from "../src/node.js";

/** Passes bytes on, and breaks all connections when it is told to. */
export class Proxy {
  cuts = 0;
  readonly #sockets = new Set<Socket>();

  private constructor(
    readonly server: Server,
    readonly address: string,
  ) {}

  static to(target: string): Promise<Proxy> {
    const [host, port] = target.split(":");
    return new Promise((resolve) => {
      const server = createServer((client) => {
        const node = connect(Number(port), host);
        for (const [one, other] of [[client, node], [node, client]] as const) {
          proxy.#sockets.add(one);
          one.on("error", () => other.destroy());
          one.on("close", () => {
            proxy.#sockets.delete(one);
            other.destroy();
          });
          one.pipe(other);
        }
      });
      const listening = (): Proxy => new Proxy(server, `127.0.0.1:${(server.address() as AddressInfo).port}`);
      let proxy: Proxy;
      server.listen(0, "127.0.0.1", () => resolve((proxy = listening())));
    });
  }

  /** Breaks what there is, in the middle of a frame or not. */
  cut(): void {
    if (this.#sockets.size > 0) this.cuts++;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Passes nothing on any more over what there is, and tells nobody: as a network does that lost its way. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe().resume();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cut();
    await closed;
  }
}

/** Lets WebSockets in to an agent port: each message is a frame. */
export class Gateway {
  readonly protocols: string[] = [];
  texts = 0;
  readonly #sockets = new Set<WebSocket>();

  private constructor(
    readonly server: WebSocketServer,
    readonly url: string,
  ) {}

  static to(target: string): Promise<Gateway> {
    const [host, port] = target.split(":");
    return new Promise((resolve) => {
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
      server.on("listening", () => {
        const gateway = new Gateway(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/session`);
        server.on("connection", (socket) => gateway.#pass(socket, connect(Number(port), host)));
        resolve(gateway);
      });
    });
  }

  #pass(socket: WebSocket, node: Socket): void {
    const frames = new Frames(1 << 21);
    this.#sockets.add(socket);
    this.protocols.push(socket.protocol);
    socket.on("message", (data, isBinary) => {
      const bytes = data as Buffer;
      if (!isBinary) this.texts++;
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      node.write(Buffer.concat([length, bytes]));
    });
    node.on("data", (data) => frames.push(data, (frame) => socket.send(frame[0] === 0x7b ? Buffer.from(frame).toString() : frame)));
    node.on("close", () => socket.close());
    node.on("error", () => socket.terminate());
    socket.on("close", () => {
      this.#sockets.delete(socket);
      node.destroy();
    });
  }

  cut(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cut();
    await closed;
  }
}

/** Network between an agent and its node that can break. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Forwards bytes, and breaks all connections on request. */
export class Proxy {
  cuts = 0;
  /** True to refuse new connections. */
  isDown = false;
  readonly #sockets = new Set<Socket>();

  private constructor(
    readonly server: Server,
    readonly address: string,
    /** `HOST:PORT` of the destination. */
    public target: string,
  ) {}

  static to(target: string): Promise<Proxy> {
    return new Promise((resolve) => {
      const server = createServer((client) => {
        if (proxy.isDown) return void client.destroy();
        const [host, port] = proxy.target.split(":");
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
      const listening = (): Proxy => new Proxy(server, `127.0.0.1:${(server.address() as AddressInfo).port}`, target);
      let proxy: Proxy;
      server.listen(0, "127.0.0.1", () => resolve((proxy = listening())));
    });
  }

  /** True while there are connections. */
  get isConnected(): boolean {
    return this.#sockets.size > 0;
  }

  /** Breaks all connections, possibly within a frame. */
  cut(): void {
    if (this.isConnected) this.cuts++;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops forwarding without closing connections, like a network without a route. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe().resume();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cut();
    await closed;
  }
}

/** What stands between an agent and its node in tests: a network that breaks. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Passes bytes on, and breaks all connections when it is told to. */
export class Proxy {
  cuts = 0;
  /** Whether nobody gets through any more who comes anew. */
  isDown = false;
  readonly #sockets = new Set<Socket>();

  private constructor(
    readonly server: Server,
    readonly address: string,
    /** `HOST:PORT` of whom it passes bytes on to. */
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

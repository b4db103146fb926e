/** Network between a page and its node that can break. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class BreakableNetwork {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isDown = false;

  constructor(node: { readonly host: string; readonly port: number }) {
    this.#server = createServer((page) => {
      if (this.#isDown) return void page.destroy();
      const there = connect(node.port, node.host);
      page.pipe(there).pipe(page);
      for (const one of [page, there]) {
        this.#sockets.add(one);
        one.on("error", () => one.destroy());
        one.on("close", () => {
          this.#sockets.delete(one);
          [page, there].forEach((other) => other.destroy());
        });
      }
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks all connections, and refuses new ones until it is up again. */
  down(): void {
    this.#isDown = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  up(): void {
    this.#isDown = false;
  }

  async close(): Promise<void> {
    this.down();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

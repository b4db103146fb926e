/** The built console before a node that may have another one built in: files from here, all else from the node. */
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { extname, join } from "node:path";
import { POLICY, TYPES } from "../mock/server.js";

export class Door {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(folder: string, node: { readonly host: string; readonly port: number }) {
    this.#server = createServer((request, response) => {
      const path = request.url === "/" ? "/index.html" : (request.url ?? "");
      readFile(join(folder, path)).then(
        (body) => response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "", "content-security-policy": POLICY }).end(body),
        () => response.writeHead(404).end(),
      );
    });
    this.#server.on("upgrade", (request, socket: Socket, head) => {
      const there = connect(node.port, node.host, () => {
        const headers = Object.entries({ ...request.headers, host: `${node.host}:${node.port}`, origin: `http://${node.host}:${node.port}` });
        there.write(`GET ${request.url} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${String(value)}\r\n`).join("")}\r\n`);
        there.write(head);
        socket.pipe(there).pipe(socket);
      });
      for (const one of [socket, there]) {
        this.#sockets.add(one);
        one.on("error", () => one.destroy());
        one.on("close", () => [socket, there].forEach((other) => other.destroy()));
      }
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

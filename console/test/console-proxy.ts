/** Proxy that serves the built console in front of a real node, which may contain another build. */
import { readFile } from "node:fs/promises";
import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { extname, join } from "node:path";
import { POLICY, TYPES } from "../mock/server.js";

export class ConsoleProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(folder: string, node: { readonly host: string; readonly port: number }) {
    this.#server = createServer((request, response) => {
      const path = request.url === "/" ? "/index.html" : (request.url ?? "");
      readFile(join(folder, path)).then(
        // The SDK is for other pages, whose Workers compile WebAssembly.
        (body) => response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "", ...(!path.startsWith("/sdk/") && { "content-security-policy": POLICY }) }).end(body),
        () => this.#pass(request, response, node),
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

  /** Forwards a request for other files to the node. */
  #pass(request: IncomingMessage, response: ServerResponse, { host, port }: { readonly host: string; readonly port: number }): void {
    const headers = { ...request.headers, host: `${host}:${port}`, ...(request.headers.origin !== undefined && { origin: `http://${host}:${port}` }) };
    const asked = ask({ host, port, path: request.url, method: request.method, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    asked.on("error", () => response.writeHead(502).end());
    request.pipe(asked);
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

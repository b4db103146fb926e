/** An agent in a Worker, as far as it is one: it has no `process`, no file and no socket of Node's. */
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "../src/index.js";
import { webSocket, type WebSocketClass } from "../src/session/transport.js";

const { url, token } = workerData as { readonly url: string; readonly token: string };
const { default: ws } = await import("ws");
const platform = await connect(url, { token, transport: webSocket(url, ws as WebSocketClass) });
const agent = await platform.create("worker", (one) => one.onMessage((message) => one.reply(message, "inform", message.content)));
parentPort?.postMessage(agent.aid.toString());
parentPort?.once("message", () => {
  parentPort?.close();
  void platform.close();
});

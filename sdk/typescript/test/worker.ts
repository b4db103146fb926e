/** Agent in an imitated Worker, without `process`, files or sockets of Node. */
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

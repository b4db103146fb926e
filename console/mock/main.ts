/** `npm run mock -- --agents 10000 --rate 5000 --port 8421`: serves the built console with a mock society. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MockNode, TOKEN } from "./server.js";

const { values } = parseArgs({
  options: { agents: { type: "string", default: "60" }, rate: { type: "string", default: "12" }, nodes: { type: "string", default: "3" }, port: { type: "string", default: "8421" }, hostile: { type: "boolean", default: false } },
});
const folder = join(dirname(fileURLToPath(import.meta.url)), "../../dist");
const node = new MockNode(folder, { agents: Number(values.agents), messagesPerS: Number(values.rate), nodes: Number(values.nodes), hostile: values.hostile });
console.log(`the console is at ${await node.listen(Number(values.port))}#token=${TOKEN}`);

/** Page for tests of browsers, and its Web Worker: an agent in each. */
import { connect } from "../src/index.js";
import { compact } from "../src/compact.js";

const { searchParams } = new URL(location.href);
const isPage = typeof document !== "undefined";
const platform = await connect(searchParams.get("gateway") ?? "", { token: searchParams.get("token") ?? "", form: isPage ? "json" : compact });
await platform.create(isPage ? "page" : "tab-worker", (agent) => {
  agent.onMessage({ performative: "request" }, (message) => agent.reply(message, "inform", message.content));
});
if (isPage) new Worker(`tab.js${location.search}`, { type: "module" });

/** Page that is a device, controlled by the test. */
import { Device } from "../src/device.js";
import { connect, isTerm, textOf, type Value } from "../src/index.js";

const { searchParams } = new URL(location.href);
const post = (news: unknown): Promise<Response> => fetch("/news", { method: "POST", body: JSON.stringify(news) });
const [url, token, name] = ["gateway", "token", "name"].map((key) => searchParams.get(key) ?? "") as [string, string, string];

const broken = (error: unknown): void => void post({ broken: error instanceof Error ? (error.stack ?? error.message) : String(error) });
addEventListener("unhandledrejection", ({ reason }) => broken(reason));
addEventListener("error", ({ message }) => broken(message));

const began = performance.now();
const device = await Device.join(url, {
  token,
  name,
  workers: Number(searchParams.get("workers") ?? 1),
  // Long enough for a machine that is busy with other tests.
  stuckMs: 10_000,
  leaseMs: Number(searchParams.get("leaseMs") ?? 10_000),
  onConnection: (isConnected) => void post({ isConnected }),
  compact: name === "tab-two",
  engine: "/agentspeak.wasm",
  lookers: ["boss"],
  work: { squares: "/device-squares.js" },
  // In the second tab this name is a module that cannot be set up.
  modules: { "kept-agent.js": "/kept-agent.js", "fussy.js": name === "tab-two" ? "/broken.js" : "/fussy.js" },
  accepts: (agent) => agent !== "unwanted",
  onArrival: (agent) => void post({ arrived: agent.name, at: name }),
  createWorker: () => new Worker("/worker.js", { type: "module" }),
  onTrouble: ({ agent, error }) => void post({ trouble: agent, error: error.message }),
  onPrint: (agent, text) => void post({ printed: agent, text }),
});
const control = await connect(url, { token });
await control.create(`${name}-control`, (agent) => {
  agent.onMessage({ performative: "request" }, async (message) => {
    const { content } = message;
    const [what, module, data] = isTerm(content) ? content.args.map((arg: Value) => textOf(arg) ?? "") : [];
    const found = device.agents.find((one) => one.name === what);
    try {
      if (isTerm(content, "spawn")) {
        const given = module?.endsWith(".asl") ? { beliefs: data ?? "" } : module?.endsWith(".wasm") ? {} : data;
        const spawned = await device.spawn(what ?? "", `/${module ?? ""}`, given, data === "kept" ? { onLeave: "wait" } : undefined);
        void spawned.ended.then((reason) => post({ ended: spawned.name, reason }));
        return agent.reply(message, "inform", spawned.aid);
      }
      if (isTerm(content, "suspend")) found?.suspend();
      if (isTerm(content, "resume")) found?.resume();
      if (isTerm(content, "end")) await found?.end();
      if (isTerm(content, "move")) await found?.moveTo(module ?? "");
      if (textOf(content) === "leave") await device.leave();
      agent.reply(message, "inform", [BigInt(device.units), BigInt(device.workers), device.agents.map((one) => one.name)]);
    } catch (error) {
      agent.reply(message, "failure", error instanceof Error ? `${error.name} ${error.message}` : String(error));
    }
  });
});
await post({ joined: device.platform, name, units: device.units, ms: Math.round(performance.now() - began) });

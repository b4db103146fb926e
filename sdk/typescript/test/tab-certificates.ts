/** Page for tests of certificates: tries to create agents with each certificate, and posts the outcomes. */
import { connect, importKey } from "../src/index.js";
import { compact } from "../src/compact.js";
import { Device } from "../src/device.js";

interface Attempt {
  readonly name: string;
  readonly url: string;
  readonly agent: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Name of the device, whose Worker has the agent. */
  readonly device?: string;
}

/** Does the same as {@link outcome} for a device. */
async function deviceOutcome({ url, agent, certificate = "", key = "", device: name = "" }: Attempt, isCompact: boolean): Promise<string> {
  const onTrouble = (): void => undefined;
  const createWorker = (): Worker => new Worker("/worker.js", { type: "module" });
  const device = await Device.join(url, { name, certificate, key: await importKey(key), workers: 1, compact: isCompact, createWorker, onTrouble });
  try {
    return (await device.spawn(agent, "/kept-agent.js")).aid;
  } finally {
    await device.leave();
  }
}

async function outcome(attempt: Attempt, form: "json" | typeof compact): Promise<string> {
  const { url, agent, certificate, key } = attempt;
  try {
    if (attempt.device !== undefined) return await deviceOutcome(attempt, form !== "json");
    const own = key === undefined ? undefined : await importKey(key);
    const platform = await connect(url, { form, patienceMs: 5_000, ...(certificate !== undefined && { certificate }), ...(own && { key: own }) });
    try {
      return (await platform.create(agent)).aid.toString();
    } finally {
      await platform.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const attempts = (await (await fetch("/attempts.json")).json()) as readonly Attempt[];
const outcomes: Record<string, string> = {};
let isJson = false;
for (const attempt of attempts) {
  isJson = !isJson;
  outcomes[attempt.name] = await outcome(attempt, isJson ? "json" : compact);
}
await fetch("/", { method: "POST", body: JSON.stringify(outcomes) });

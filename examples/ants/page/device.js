/** Device: this page takes part in the platform, with an agent that hears the colony's publications. */
import { Device } from "/sdk/device.js";
import { isTerm, textOf } from "/sdk/whimbrel.js";

/** Joins the platform. `onBest` gets each best tour that the colony publishes, `onPart` the number of parts that this
 * device has done. The page takes part until it is over for good: a machine that was asleep, or a network that was
 * away, is no reason. */
export async function join({ token, name, workers, onBest, onPart, onTrouble, onConnection }) {
  let done = 0;
  const device = await Device.join(location.origin, {
    token,
    name,
    workers,
    work: { ants: new URL("./work.js", import.meta.url) },
    onWork: (_, isDone) => isDone && onPart(++done),
    onTrouble: ({ error }) => onTrouble(error.message),
    onConnection,
  });
  try {
    await device.create(`${name}-eye`, (agent) => watch(agent, onBest));
    return { units: device.units, ended: device.closed.then(({ message }) => message) };
  } catch (error) {
    await device.leave();
    throw error;
  }
}

/** Listens for best tours. */
async function watch(agent, onBest) {
  agent.onMessage((message) => {
    if (!isTerm(message.content, "best", 8)) return;
    const [problem, shortest, cities, length, tour, who, searched, gave] = message.content.args;
    const devices = gave.map(({ args: [device, parts] }) => ({ device: textOf(device), parts: Number(parts) }));
    onBest({ problem: textOf(problem), shortest, cities, length: typeof length === "number" ? length : undefined, tour, who: textOf(who), searched, devices });
  });
  await agent.ams.join("topic:ants");
}

/** This page as a device of the platform, and an agent that hears what the colony publishes. */
import { Device } from "/sdk/device.js";
import { isTerm, textOf } from "/sdk/whimbrel.js";

/**
 * Joins. `onBest` is told of each best tour that the colony publishes, `onPart` of how many parts this device has done. It takes part until it is over for good: that the machine was asleep, or
 * the network away, is no reason.
 */
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

/** Hears of each best tour. */
async function watch(agent, onBest) {
  agent.onMessage((message) => {
    if (!isTerm(message.content, "best", 8)) return;
    const [problem, shortest, cities, length, tour, who, searched, gave] = message.content.args;
    const devices = gave.map(({ args: [device, parts] }) => ({ device: textOf(device), parts: Number(parts) }));
    onBest({ problem: textOf(problem), shortest, cities, length: typeof length === "number" ? length : undefined, tour, who: textOf(who), searched, devices });
  });
  await agent.ams.join("topic:ants");
}

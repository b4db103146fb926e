/** This page as a device of the platform, and an agent that hears what the colony publishes. */
import { Device } from "/sdk/device.js";
import { connect, isTerm, textOf } from "/sdk/whimbrel.js";

/**
 * Joins. `onBest` is told of each best tour that the colony publishes, `onPart` of how many parts this device has done.
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
  });
  try {
    const platform = await connect(location.origin, { token, patienceMs: 30_000 });
    platform.onConnection(onConnection);
    await platform.create(`${name}-eye`, (agent) => watch(agent, onBest));
    const ended = platform.closed.then(async ({ message }) => {
      await device.leave();
      return message;
    });
    return { units: device.units, ended };
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

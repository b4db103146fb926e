/** This tab as a place of the platform: agents live here, come and go. */
import { Device } from "/sdk/device.js";
import { atom, isTerm, term, textOf } from "/sdk/whimbrel.js";

/** The scout is kept: should its tab be closed it goes on at the node, as it was after its last message. */
const KEEP = { onLeave: "go-on" };
/** How long a tab that was closed is waited for. */
export const LEASE_MS = 3000;
/** Between two looks at which tabs are there. */
const LOOK_MS = 2000;

/**
 * Joins. `onNews` is told of the nodes and of the scout's diary, whenever it has written; `onStayed` why it does not get somewhere;
 * `onDevices` which tabs are there. It is a place until it is over for good: that the machine was asleep, or the network away, is no reason.
 */
export async function join({ token, name, onNews, onStayed, onDevices, onTrouble, onConnection }) {
  const device = await Device.join(location.origin, {
    token,
    name,
    workers: 1,
    leaseMs: LEASE_MS,
    engine: new URL("./lib/agentspeak.wasm", import.meta.url),
    // Consoles may look into the scout's mind while it is here.
    lookers: ["cli"],
    onTrouble: ({ error }) => onTrouble(error.message),
    onConnection,
  });
  try {
    let desk;
    await device.create(`desk_${name}`, (agent) => {
      desk = agent;
      return look(agent, { onNews, onStayed, onDevices });
    });
    return {
      ended: device.closed.then(({ message }) => message),
      /** Has the scout begin here, if there is none. */
      begin: () => device.spawn("scout", new URL("./scout.asl", import.meta.url), {}, KEEP),
      /** Has it go there, wherever it is. */
      send: (place) => desk.send({ performative: "achieve", receivers: "scout", content: term("go", place) }),
      /** Whether there is one anywhere. */
      isThere: async () => (await desk.ams.search({ name: "scout" })).length > 0,
    };
  } catch (error) {
    await device.leave();
    throw error;
  }
}

/** Says what this place is, and hears what the logbook publishes. */
async function look(agent, { onNews, onStayed, onDevices }) {
  agent.onMessage({ performative: "askOne" }, (message) => agent.reply(message, "tell", term("postcard", postcard())));
  agent.onMessage({ sender: "logbook" }, ({ content }) => {
    if (isTerm(content, "stayed", 3)) return onStayed(textOf(content.args[0]), textOf(content.args[2]));
    if (!isTerm(content, "news", 2)) return undefined;
    const [nodes, diary] = content.args;
    return onNews(nodes.map(textOf), diary.map(({ args: [place, arrived, steps, found] }) => ({ place: textOf(place), arrived: Number(arrived), steps: Number(steps), found: textOf(found) ?? "" })));
  });
  // Who was called and is not there, says `ams`.
  agent.onMessage({ performative: "failure" }, () => undefined);
  await agent.ams.join("topic:roaming");
  agent.send({ performative: "achieve", receivers: "logbook", content: term("tell") });
  const lookAround = async () => {
    const { content } = await agent.ask({ performative: "query-ref", receivers: "devices", content: atom("devices") });
    await onDevices(content.flatMap((device) => device.filter((one) => isTerm(one, "device", 1)).map(({ args: [name] }) => textOf(name))));
  };
  // Whether somebody answers this time or not: the next time is another one.
  agent.every(LOOK_MS, lookAround);
  void agent.run(lookAround);
}

function postcard() {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/(\d+)/.exec(navigator.userAgent);
  const { width, height } = screen;
  return `a tab in ${browser ? `${browser[1].replace("Edg", "Edge").replace("OPR", "Opera")} ${browser[2]}` : "a browser"}, ${width} x ${height}, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
}

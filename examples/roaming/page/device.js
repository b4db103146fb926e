/** Place of the platform: agents live in this tab, come and go. */
import { Device } from "/sdk/device.js";
import { atom, isTerm, term, textOf } from "/sdk/whimbrel.js";

/** Durability of the scout: when its tab is closed, it continues at the node, as it was after its last message. */
const KEEP = { onLeave: "go-on" };
/** Lease of a closed tab. */
export const LEASE_MS = 3000;
/** Interval between two looks at the present tabs. */
const LOOK_MS = 2000;

/** Joins the platform. `onNews` gets the nodes and the scout's diary, whenever it has written; `onStayed` the reason
 * why the scout did not move; `onDevices` the present tabs. The tab is a place until it is over for good: a machine
 * that was asleep, or a network that was away, is no reason. */
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
      /** Starts the scout here, if there is none. */
      begin: () => device.spawn("scout", new URL("./scout.asl", import.meta.url), {}, KEEP),
      /** Sends the scout to a place, from any place. */
      send: (place) => desk.send({ performative: "achieve", receivers: "scout", content: term("go", place) }),
      /** Returns true if there is a scout anywhere. */
      isThere: async () => (await desk.ams.search({ name: "scout" })).length > 0,
    };
  } catch (error) {
    await device.leave();
    throw error;
  }
}

/** Reports this place, and listens to the logbook's publications. */
async function look(agent, { onNews, onStayed, onDevices }) {
  agent.onMessage({ performative: "askOne" }, (message) => agent.reply(message, "tell", term("postcard", postcard())));
  agent.onMessage({ sender: "logbook" }, ({ content }) => {
    if (isTerm(content, "stayed", 3)) return onStayed(textOf(content.args[0]), textOf(content.args[2]));
    if (!isTerm(content, "news", 2)) return undefined;
    const [nodes, diary] = content.args;
    return onNews(nodes.map(textOf), diary.map(({ args: [place, arrived, steps, found] }) => ({ place: textOf(place), arrived: Number(arrived), steps: Number(steps), found: textOf(found) ?? "" })));
  });
  // The `ams` reports that the called agent is not there.
  agent.onMessage({ performative: "failure" }, () => undefined);
  await agent.ams.join("topic:roaming");
  agent.send({ performative: "achieve", receivers: "logbook", content: term("tell") });
  const lookAround = async () => {
    const { content } = await agent.ask({ performative: "query-ref", receivers: "devices", content: atom("devices") });
    await onDevices(content.flatMap((device) => device.filter((one) => isTerm(one, "device", 1)).map(({ args: [name] }) => textOf(name))));
  };
  // A missing answer does no harm: the next look comes anyway.
  agent.every(LOOK_MS, lookAround);
  void agent.run(lookAround);
}

function postcard() {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/(\d+)/.exec(navigator.userAgent);
  const { width, height } = screen;
  return `a tab in ${browser ? `${browser[1].replace("Edg", "Edge").replace("OPR", "Opera")} ${browser[2]}` : "a browser"}, ${width} x ${height}, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
}

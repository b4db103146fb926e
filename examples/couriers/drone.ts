/** Courier in TypeScript: flies light parcels, and charges by distance. Usage: drone.js tcp://HOST:PORT */
import { atom, connect, isTerm, onContractNet, Refusal, term, textOf, type Value } from "whimbrel/node";

/** Kilometres from the shop. */
const DISTANCES: Readonly<Record<string, number>> = { old_town: 3, hill: 1, island: 9 };
const LIGHT: readonly string[] = ["letter", "cake"];

/** Returns the parcel and the distance of a job. */
function jobOf(content: Value): { readonly what: string; readonly kilometres: number } {
  if (!isTerm(content, "deliver", 2)) throw new Refusal("what is that?");
  const [what, where] = content.args.map((part) => textOf(part) ?? "");
  const kilometres = DISTANCES[where ?? ""];
  if (what === undefined || kilometres === undefined || !LIGHT.includes(what)) throw new Refusal(content);
  return { what, kilometres };
}

const [address = "tcp://127.0.0.1:7002"] = process.argv.slice(2);
const token = process.env["WHIMBREL_AGENT_TOKEN"] ?? "";
const platform = await connect(address, { token, patienceMs: 30_000 });

const drone = await platform.create("drone", async (agent) => {
  onContractNet(agent, {
    bid: ({ content }) => {
      const { what, kilometres } = jobOf(content);
      return term("offer", atom(what), 2 + 2 * kilometres);
    },
    perform: ({ content }) => {
      const { what, kilometres } = jobOf(content);
      console.log(`[drone] flies the ${what}, ${kilometres} km`);
      return term("delivered", atom(what));
    },
  });
  await agent.df.register({ services: [{ name: "courier", type: "courier" }] });
});

await drone.ended;

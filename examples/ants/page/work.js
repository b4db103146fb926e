/** Work of a device's Worker on a part: `search(Problem, Cities, Known, Seed, Rounds)`. */
import { isTerm, term } from "/sdk/whimbrel.js";
import { search } from "./ants.js";

export default function ants(part) {
  if (!isTerm(part, "search", 5)) throw new Error("share(ants, search(...)) is expected");
  const [, cities, known, seed, rounds] = part.args;
  const { length, tour } = search({ cities, known, seed, rounds });
  return term("found", length, tour);
}

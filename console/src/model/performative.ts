/** The performatives, and what family of acts each belongs to: that decides its colour. */

export type Family = "ask" | "offer" | "tell" | "refuse" | "fail" | "other";

/** FIPA00037, in its order. */
export const FIPA_PERFORMATIVES = [
  "accept-proposal", "agree", "cancel", "cfp", "confirm", "disconfirm", "failure", "inform", "inform-if", "inform-ref", "not-understood",
  "propagate", "propose", "proxy", "query-if", "query-ref", "refuse", "reject-proposal", "request", "request-when", "request-whenever", "subscribe",
] as const;

/** KQML's, as AgentSpeak uses them. */
export const KQML_PERFORMATIVES = ["tell", "untell", "achieve", "unachieve", "askOne", "askAll", "askHow", "tellHow", "untellHow", "signal"] as const;

const FAMILIES: Readonly<Record<Exclude<Family, "other">, readonly string[]>> = {
  ask: ["request", "request-when", "request-whenever", "query-if", "query-ref", "subscribe", "cfp", "proxy", "propagate", "achieve", "askone", "askall", "askhow", "signal"],
  offer: ["propose", "agree", "accept-proposal"],
  tell: ["inform", "inform-if", "inform-ref", "confirm", "tell", "tellhow"],
  refuse: ["refuse", "reject-proposal", "cancel", "disconfirm", "untell", "unachieve", "untellhow"],
  fail: ["failure", "not-understood"],
};
const familyOf = new Map(Object.entries(FAMILIES).flatMap(([family, words]) => words.map((word) => [word, family as Family])));

export const FAMILY_ORDER: readonly Family[] = ["ask", "offer", "tell", "refuse", "fail", "other"];

/** Upper and lower case, hyphens and underscores do not matter: `ask_one` and `askOne` are one. */
export function family(performative: string): Family {
  const known = familyOf.get(performative);
  if (known) return known;
  const word = performative.toLowerCase().replaceAll("_", "-");
  return familyOf.get(word) ?? familyOf.get(word.replaceAll("-", "")) ?? "other";
}

/** Performatives and their families. The family decides the colour. */

export type Family = "ask" | "offer" | "tell" | "refuse" | "fail" | "other";

/** Performatives of FIPA00037, in its order. */
export const FIPA_PERFORMATIVES = [
  "accept-proposal", "agree", "cancel", "cfp", "confirm", "disconfirm", "failure", "inform", "inform-if", "inform-ref", "not-understood",
  "propagate", "propose", "proxy", "query-if", "query-ref", "refuse", "reject-proposal", "request", "request-when", "request-whenever", "subscribe",
] as const;

/** Performatives of KQML that AgentSpeak uses. */
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

/** Returns the family of a performative. Case, hyphens and underscores do not matter: `ask_one` is `askOne`. */
export function family(performative: string): Family {
  const known = familyOf.get(performative);
  if (known) return known;
  const word = performative.toLowerCase().replaceAll("_", "-");
  return familyOf.get(word) ?? familyOf.get(word.replaceAll("-", "")) ?? "other";
}

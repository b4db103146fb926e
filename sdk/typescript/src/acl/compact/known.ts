/** The static dictionary: words of FIPA's specifications, and shapes that AMS and DF exchange. */

/** Languages, protocols, ontologies and roles. The position is the number. */
export const KNOWN_TEXTS: readonly string[] = (
  "fipa-request fipa-contract-net fipa-query fipa-subscribe fipa-propose fipa-request-when fipa-iterated-contract-net " +
  "fipa-brokering fipa-recruiting fipa-auction-english fipa-auction-dutch fipa-sl fipa-sl0 fipa-sl1 fipa-sl2 " +
  "FIPA-Agent-Management fipa-agent-management source self percept json agentspeak whimbrel utf-8 action done result " +
  "set sequence register deregister modify search datetime duration active suspended waiting ams df name type value " +
  "content"
).split(" ");

/** Frames of FIPA00023 6.1, parameters of an ACL message (FIPA00061) and of an envelope (FIPA00067). */
export const KNOWN_SHAPES: readonly { readonly name: string; readonly fields: readonly string[] }[] = [
  { name: "agent-identifier", fields: "name addresses resolvers".split(" ") },
  { name: "df-agent-description", fields: "name services protocols ontologies languages lease-time scope".split(" ") },
  { name: "service-description", fields: "name type protocols ontologies languages ownership properties".split(" ") },
  { name: "property", fields: "name value".split(" ") },
  { name: "search-constraints", fields: "max-depth max-results search-id".split(" ") },
  { name: "ams-agent-description", fields: "name ownership state".split(" ") },
  { name: "ap-description", fields: "name ap-services".split(" ") },
  { name: "ap-service", fields: "name type addresses".split(" ") },
  { name: "acl-message", fields: "performative sender receiver reply-to content language encoding ontology protocol conversation-id reply-with in-reply-to reply-by".split(" ") },
  { name: "envelope", fields: "to from comments acl-representation payload-length payload-encoding date intended-receiver received transport-behaviour".split(" ") },
  { name: "received-object", fields: "by from date id via".split(" ") },
];

const NUMBERS = new Map(KNOWN_TEXTS.map((text, number) => [text, number]));

/** Returns the number of a known text. */
export function knownText(text: string): number | undefined {
  return NUMBERS.get(text);
}

/**
 * Returns the known shape of an object, with a bit mask of its fields. Undefined if the fields are in another order.
 */
export function knownShape(name: string, fields: readonly string[]): { readonly number: number; readonly mask: number } | undefined {
  const number = KNOWN_SHAPES.findIndex((shape) => shape.name === name);
  const known = KNOWN_SHAPES[number]?.fields;
  if (known === undefined) return undefined;
  let [mask, from] = [0, 0];
  for (const field of fields) {
    const place = known.indexOf(field, from);
    if (place < 0) return undefined;
    mask |= 1 << place;
    from = place + 1;
  }
  return { number, mask };
}

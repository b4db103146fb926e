/** Requests to the agents `df` and `ams`: docs/reference/fipa-agent-management.md. */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import { field, isAtom, isTerm, record, term, textOf, type RecordValue, type Value } from "../acl/value.js";
import type { Agent } from "./agent.js";
import type { Waiting } from "./mailbox.js";

/** Ontology of both agents. */
export const ONTOLOGY = "fipa-agent-management";

/** Encodes an agent identifier. */
export function agentIdentifier(agent: AidLike): RecordValue {
  const aid = Aid.of(agent);
  return record("agent-identifier", {
    name: aid.toString(),
    addresses: aid.addresses.length > 0 ? aid.addresses : undefined,
    resolvers: aid.resolvers.length > 0 ? aid.resolvers.map(agentIdentifier) : undefined,
  });
}

/** Decodes an agent identifier, or a plain name. */
export function agentOf(value: Value | undefined): Aid | undefined {
  const name = textOf(value) ?? (value === undefined ? undefined : textOf(field(value, "name")));
  return name === undefined ? undefined : Aid.parse(name);
}

/** Returns the receiver that a `failure` of the AMS reports as unreached; undefined for other contents. */
export function unreachedIn(content: Value): Aid | undefined {
  const reason = Array.isArray(content) ? (content as readonly Value[]).at(-1) : undefined;
  return reason !== undefined && isTerm(reason, "undelivered") ? agentOf(reason.args[0]) : undefined;
}

/** Encodes a set; undefined if it is empty. */
export function setOf(items: readonly Value[] | undefined): Value | undefined {
  return items && items.length > 0 ? term("set", ...items) : undefined;
}

/** Returns the elements of a set, a list, or a single element. */
export function elementsOf(value: Value | undefined): readonly Value[] {
  if (value === undefined || isAtom(value, "set")) return [];
  if (isTerm(value, "set")) return value.args;
  return Array.isArray(value) ? (value as readonly Value[]) : [value];
}

/** Returns the text elements of a set. */
export function textsOf(value: Value | undefined): string[] {
  return elementsOf(value).flatMap((element) => textOf(element) ?? []);
}

/** Content `action(Service, Function)`. */
export function actionOf(service: string, what: Value): Value {
  return [term("action", agentIdentifier(service), what)];
}

/** Requests an action of `df` or `ams`. Returns its result; undefined if it has none. */
export async function perform(agent: Agent, service: string, what: Value, waiting: Waiting = {}): Promise<Value | undefined> {
  const answer = await agent.ask(
    { performative: "request", receivers: service, protocol: "fipa-request", ontology: ONTOLOGY, content: actionOf(service, what) },
    waiting,
  );
  return resultOf(answer.content);
}

/** Returns the result in `[result(Action, Result)]`. */
export function resultOf(content: Value): Value | undefined {
  const expression = Array.isArray(content) ? (content as readonly Value[])[0] : content;
  return expression !== undefined && isTerm(expression, "result", 2) ? expression.args[1] : undefined;
}

/** Searches `df` or `ams`. */
export async function search(agent: Agent, service: string, what: Value, waiting: Waiting): Promise<readonly Value[]> {
  const result = await perform(agent, service, what, waiting);
  if (result === undefined) throw new WhimbrelError(`invalid answer of ${service}: a search without a result`);
  return elementsOf(result);
}

/** Limits of a search. */
export interface SearchOptions extends Waiting {
  /** Maximum number of results. */
  readonly maxResults?: number;
}

/** Builds the function `search` with its constraints. */
export function searchTerm(template: Value, { maxResults }: SearchOptions): Value {
  if (maxResults === undefined) return term("search", template);
  return term("search", template, record("search-constraints", { "max-results": BigInt(maxResults) }));
}

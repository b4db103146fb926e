/** What the agents `df` and `ams` have in common: docs/reference/fipa-agent-management.md. */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import { field, isAtom, isTerm, record, term, textOf, type RecordValue, type Value } from "../acl/value.js";
import type { Agent } from "./agent.js";
import type { Waiting } from "./mailbox.js";

/** The ontology of both. */
export const ONTOLOGY = "fipa-agent-management";

/** An agent as a value. */
export function agentIdentifier(agent: AidLike): RecordValue {
  const aid = Aid.of(agent);
  return record("agent-identifier", {
    name: aid.toString(),
    addresses: aid.addresses.length > 0 ? aid.addresses : undefined,
    resolvers: aid.resolvers.length > 0 ? aid.resolvers.map(agentIdentifier) : undefined,
  });
}

/** The agent that a value is: an identifier, or its name alone. */
export function agentOf(value: Value | undefined): Aid | undefined {
  const name = textOf(value) ?? (value === undefined ? undefined : textOf(field(value, "name")));
  return name === undefined ? undefined : Aid.parse(name);
}

/** A set as a value; undefined if it is empty. */
export function setOf(items: readonly Value[] | undefined): Value | undefined {
  return items && items.length > 0 ? term("set", ...items) : undefined;
}

/** The elements of a set, which may be a list, or one element that stands for itself. */
export function elementsOf(value: Value | undefined): readonly Value[] {
  if (value === undefined || isAtom(value, "set")) return [];
  if (isTerm(value, "set")) return value.args;
  return Array.isArray(value) ? (value as readonly Value[]) : [value];
}

/** The texts among the elements of a set. */
export function textsOf(value: Value | undefined): string[] {
  return elementsOf(value).flatMap((element) => textOf(element) ?? []);
}

/** `action(Service, Function)`, as content. */
export function actionOf(service: string, what: Value): Value {
  return [term("action", agentIdentifier(service), what)];
}

/** Has `df` or `ams` do something; what came of it, or undefined if it is done and nothing came. */
export async function perform(agent: Agent, service: string, what: Value, waiting: Waiting = {}): Promise<Value | undefined> {
  const answer = await agent.ask(
    { performative: "request", receivers: service, protocol: "fipa-request", ontology: ONTOLOGY, content: actionOf(service, what) },
    waiting,
  );
  return resultOf(answer.content);
}

/** The result in `[result(Action, Result)]`. */
export function resultOf(content: Value): Value | undefined {
  const expression = Array.isArray(content) ? (content as readonly Value[])[0] : content;
  return expression !== undefined && isTerm(expression, "result", 2) ? expression.args[1] : undefined;
}

/** The results of a search. */
export async function search(agent: Agent, service: string, what: Value, waiting: Waiting): Promise<readonly Value[]> {
  const result = await perform(agent, service, what, waiting);
  if (result === undefined) throw new WhimbrelError(`${service} answers a search without a result`);
  return elementsOf(result);
}

/** What limits a search. */
export interface SearchOptions extends Waiting {
  /** At most so many results. */
  readonly maxResults?: number;
}

/** The function `search`, with its constraints. */
export function searchTerm(template: Value, { maxResults }: SearchOptions): Value {
  if (maxResults === undefined) return term("search", template);
  return term("search", template, record("search-constraints", { "max-results": BigInt(maxResults) }));
}

/** A request to the directory facilitator, as docs/reference/fipa-agent-management.md writes it. */
import type { Json } from "./letter.js";

export interface Registration {
  /** Who is registered; empty for the console's own agent. */
  readonly agent: string;
  readonly name: string;
  readonly kind: string;
  /** Words, apart by spaces or commas. */
  readonly protocols: string;
  readonly ontologies: string;
  /** `price=5 colour=green`. */
  readonly properties: string;
  readonly leaseS: string;
}

/** The agent from which nodes send what has no sender. */
const OWN_AGENT = "cli";

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
const record = (name: string, fields: readonly (readonly [string, Json])[]): Json => ({ record: name, fields: fields.map((field) => [...field]) });
const set = (items: readonly Json[]): Json => ({ term: "set", args: [...items] });
const atom = (name: string): Json => ({ atom: name });

function value(text: string): Json {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : /^[a-z][\w-]*$/.test(text) ? atom(text) : text;
}

export function registration(of: Registration, does: "register" | "deregister"): { [member: string]: Json } {
  const agent = of.agent.trim() || OWN_AGENT;
  const property = (text: string): Json => {
    const [name = "", ...rest] = text.split("=");
    return record("property", [["name", atom(name)], ["value", value(rest.join("="))]]);
  };
  const some = (name: string, items: readonly Json[]): (readonly [string, Json])[] => (items.length === 0 ? [] : [[name, set(items)]]);
  const service = record("service-description", [
    ["name", value(of.name.trim())],
    ["type", value(of.kind.trim())],
    ...some("protocols", words(of.protocols).map(atom)),
    ...some("ontologies", words(of.ontologies).map(atom)),
    ...some("properties", words(of.properties).map(property)),
  ]);
  const name = ["name", record("agent-identifier", [["name", agent]])] as const;
  const lease: [string, Json][] = Number(of.leaseS) > 0 ? [["lease-time", { term: "duration", args: [Math.round(Number(of.leaseS) * 1000)] }]] : [];
  const description = record("df-agent-description", does === "deregister" ? [name] : [name, ["services", set([service])], ...lease]);
  return {
    performative: "request",
    ...(of.agent.trim() !== "" && { sender: agent }),
    receivers: ["df"],
    ontology: "fipa-agent-management",
    protocol: "fipa-request",
    content: { term: does, args: [description] },
  };
}

/** A form for an agent's DF entry, one service at a time. */
import type { EntryInfo, EntryWanted, ServiceInfo } from "../live/vocabulary.js";

export interface Registration {
  readonly agent: string;
  readonly name: string;
  readonly kind: string;
  /** Words, separated by spaces or commas. */
  readonly protocols: string;
  readonly ontologies: string;
  /** Properties as `price=5 colour=green`. */
  readonly properties: string;
  /** Seconds; empty for the agent's lifetime. */
  readonly lease: string;
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
const propertiesOf = (service?: ServiceInfo): string => service?.properties.map(([name, value]) => `${name}=${value}`).join(" ") ?? "";

/** Returns the initial form: a service of an entry, or an empty one. */
export function registrationOf(entry?: EntryInfo, service?: ServiceInfo): Registration {
  return {
    agent: entry?.agent ?? "",
    name: service?.name ?? "",
    kind: service?.kind ?? "",
    protocols: service?.protocols.join(" ") ?? "",
    ontologies: service?.ontologies.join(" ") ?? "",
    properties: propertiesOf(service),
    lease: entry?.lease_left_ms ? String(Math.ceil(entry.lease_left_ms / 1000)) : "",
  };
}

/** Returns the entry with the form's service. Without `service`, the form adds one. */
export function entryOf(form: Registration, entry?: EntryInfo, service?: ServiceInfo): EntryWanted {
  const property = (text: string): readonly [string, string] => {
    const [name = "", ...rest] = text.split("=");
    return [name, rest.join("=")];
  };
  // Unchanged properties stay as they are, because the form may not be able to express them.
  const properties = service && form.properties === propertiesOf(service) ? service.properties : words(form.properties).map(property);
  const written: ServiceInfo = { owner: null, languages: [], ...service, name: form.name.trim(), kind: form.kind.trim(), protocols: words(form.protocols), ontologies: words(form.ontologies), properties };
  const services = entry?.services ?? [];
  return {
    agent: form.agent.trim(),
    services: service ? services.map((one) => (one === service ? written : one)) : [...services, written],
    protocols: entry?.protocols ?? [],
    ontologies: entry?.ontologies ?? [],
    languages: entry?.languages ?? [],
    lease_ms: Number(form.lease) > 0 ? Math.round(Number(form.lease) * 1000) : null,
  };
}

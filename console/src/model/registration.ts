/** An agent's entry in the directory facilitator, as a person writes it: one service at a time. */
import type { EntryInfo, EntryWanted, ServiceInfo } from "../live/vocabulary.js";

export interface Registration {
  readonly agent: string;
  readonly name: string;
  readonly kind: string;
  /** Words, apart by spaces or commas. */
  readonly protocols: string;
  readonly ontologies: string;
  /** `price=5 colour=green`. */
  readonly properties: string;
  /** In seconds; nothing for as long as the agent lives. */
  readonly lease: string;
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
const propertiesOf = (service?: ServiceInfo): string => service?.properties.map(([name, value]) => `${name}=${value}`).join(" ") ?? "";

/** What is in the form before anything was typed: a service of an entry, or nothing. */
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

/** What an entry is to say: as it does now, but for the service that the form is about; without `service` that is another one. */
export function entryOf(form: Registration, entry?: EntryInfo, service?: ServiceInfo): EntryWanted {
  const property = (text: string): readonly [string, string] => {
    const [name = "", ...rest] = text.split("=");
    return [name, rest.join("=")];
  };
  // What was not touched stays: it may have more in it than can be typed.
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

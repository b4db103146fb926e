import { EncodeError } from "./errors.js";
import type { Value } from "./value.js";

/** Parts of an agent identifier besides its name. */
export interface Contact {
  /** Transport addresses (URLs), in order of preference. */
  readonly addresses?: readonly string[];
  /** Agents that resolve the name, in order of preference. */
  readonly resolvers?: readonly AidLike[];
  /** `X-` parameters, in order. */
  readonly user?: readonly (readonly [string, Value])[];
}

/** An agent: its identifier, or its name as text, `name` or `name@platform`. */
export type AidLike = Aid | string;

/**
 * An agent identifier (FIPA00023 3.1). Identifiers with the same name are equal, whatever their addresses.
 *
 * ```ts
 * Aid.of("bob@home").platform; // "home"
 * ```
 */
export class Aid {
  /** Empty identifier: the sender of a message without a sender. */
  static readonly NOBODY = new Aid("", "");

  /** Transport addresses, in order of preference. */
  readonly addresses: readonly string[];
  /** Agents that resolve the name. */
  readonly resolvers: readonly Aid[];
  /** `X-` parameters. */
  readonly user: readonly (readonly [string, Value])[];

  constructor(
    /** Local name, before `@`. */
    readonly name: string,
    /** Platform, after `@`; empty for an agent of the own platform. */
    readonly platform: string,
    contact: Contact = {},
  ) {
    this.addresses = contact.addresses ?? [];
    this.resolvers = (contact.resolvers ?? []).map((resolver) => Aid.of(resolver));
    this.user = contact.user ?? [];
  }

  /**
   * Returns an identifier from a name.
   *
   * @throws {@link EncodeError} if the text is not an agent name. Neither part may be empty.
   */
  static of(agent: AidLike): Aid {
    if (agent instanceof Aid) return agent;
    const aid = typeof agent === "string" ? Aid.parse(agent) : undefined;
    if (aid === undefined) {
      throw new EncodeError(`invalid agent name ${JSON.stringify(agent)}: expected "name" or "name@platform"`);
    }
    return aid;
  }

  /** Parses an agent name; undefined if the text is none. */
  static parse(text: string): Aid | undefined {
    const at = text.lastIndexOf("@");
    const [name, platform] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
    return name === "" || (at >= 0 && platform === "") ? undefined : new Aid(name, platform);
  }

  /** Returns true for the same agent. */
  equals(other: AidLike): boolean {
    const aid = typeof other === "string" ? Aid.parse(other) : other;
    return aid !== undefined && aid.name === this.name && aid.platform === this.platform;
  }

  /** True if the identifier has only a name. */
  get isPlain(): boolean {
    return this.addresses.length + this.resolvers.length + this.user.length === 0;
  }

  /** Returns `name` or `name@platform`. */
  toString(): string {
    return this.platform === "" ? this.name : `${this.name}@${this.platform}`;
  }

  /** Returns the name, for `JSON.stringify`. */
  toJSON(): string {
    return this.toString();
  }
}

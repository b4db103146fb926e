/** The nodes, and how they have been doing for some minutes. */
import { signal } from "@preact/signals";
import type { LinkInfo, MemberInfo, NodeInfo, SocietyFrame } from "../live/vocabulary.js";

/** Rates are of so long: what comes in bursts has a figure that can be read. */
const RATE_US = 2_000_000;
/** Figures of the past, for a small line: five minutes at two a second. */
const HISTORY_MAX = 600;

/** A node as the console shows it, of a cluster or not. */
export interface NodeCard {
  readonly name: string;
  readonly isHere: boolean;
  readonly state: string;
  readonly agents: number | null;
  /** 0 to 1. */
  readonly load: number | null;
  readonly memoryBytes: number | null;
  readonly messagesPerS: number | null;
  readonly address: string | null;
  readonly isPlacer: boolean;
  readonly troubles: readonly string[];
  readonly linkUp: boolean | null;
  readonly roundTripUs: number | null;
}

export class Society {
  readonly node = signal<NodeInfo | null>(null);
  readonly cards = signal<readonly NodeCard[]>([]);
  readonly links = signal<readonly LinkInfo[]>([]);
  /** The names of the other nodes that run, a line each. */
  readonly others = signal("");
  readonly messagesPerS = signal<number | null>(null);
  readonly history = signal<readonly number[]>([]);
  #past: { readonly at_us: number; readonly pid: number; readonly sent: number }[] = [];

  hear(frame: SocietyFrame): void {
    const rate = this.#rate(frame);
    this.node.value = frame.node;
    this.links.value = frame.links;
    this.messagesPerS.value = rate;
    if (rate !== null) this.history.value = [...this.history.value.slice(1 - HISTORY_MAX), rate];
    this.cards.value = cardsOf(frame, rate);
    this.others.value = this.cards.value.flatMap(({ name, isHere }) => (isHere ? [] : [name])).sort().join("\n");
  }

  /** Messages per second in the last moments; null if nothing is known of them, or the node is another process now. */
  #rate({ at_us, node }: SocietyFrame): number | null {
    const last = this.#past.at(-1);
    if (last && (last.pid !== node.pid || at_us <= last.at_us || node.sent < last.sent)) this.#past = [];
    while ((this.#past[1]?.at_us ?? Infinity) <= at_us - RATE_US) this.#past.shift();
    this.#past.push({ at_us, pid: node.pid, sent: node.sent });
    const [first] = this.#past;
    return first && first.at_us < at_us ? ((node.sent - first.sent) * 1e6) / (at_us - first.at_us) : null;
  }
}

function cardsOf({ node, nodes, links }: SocietyFrame, rate: number | null): NodeCard[] {
  const cards = new Map<string, NodeCard>();
  const linkTo = (name: string) => links.find((link) => link.peer === name);
  const card = (name: string, member?: MemberInfo): NodeCard => {
    const isHere = name === node.node;
    const link = linkTo(name);
    return {
      name,
      isHere,
      state: member?.state ?? (isHere ? "running" : link && !link.up ? "silent" : "running"),
      agents: member?.agents ?? (isHere ? node.agents : null),
      load: member?.load ? Math.min(1, member.load.busy / 1000) : null,
      memoryBytes: isHere ? node.memory_bytes : null,
      messagesPerS: isHere ? rate : null,
      address: member?.address ?? (isHere ? node.address : (link?.address ?? null)),
      isPlacer: member?.placer ?? false,
      troubles: (member?.troubles ?? []).map((trouble) => `partition ${trouble.partition}: ${trouble.why || trouble.kind}`),
      linkUp: isHere ? null : (link?.up ?? null),
      roundTripUs: link?.round_trip_us ?? null,
    };
  };
  cards.set(node.node, card(node.node, nodes.find((member) => member.node === node.node)));
  for (const member of nodes) if (member.state !== "left") cards.set(member.node, card(member.node, member));
  for (const peer of [...links.map((link) => link.peer), ...node.peers.map((peer) => peer.node)]) {
    if (peer !== null && !cards.has(peer)) cards.set(peer, card(peer));
  }
  return [...cards.values()];
}

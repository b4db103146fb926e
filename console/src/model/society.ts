/** The nodes and their links. */
import { signal } from "@preact/signals";
import type { LinkInfo, MemberInfo, NodeInfo, SocietyFrame } from "../live/vocabulary.js";

/** A node as the console shows it. */
export interface NodeCard {
  readonly name: string;
  readonly isHere: boolean;
  readonly state: string;
  readonly agents: number | null;
  /** Load from 0 to 1. */
  readonly load: number | null;
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
  /** Faults that the asked node reports. */
  readonly wrong = signal<readonly string[]>([]);
  /** Names of the other running nodes, one a line. */
  readonly others = signal("");

  hear(frame: SocietyFrame): void {
    this.node.value = frame.node;
    this.links.value = frame.links;
    const wrong = frame.wrong ?? frame.node.wrong ?? [];
    if (this.wrong.value.join() !== wrong.join()) this.wrong.value = wrong;
    this.cards.value = cardsOf(frame);
    this.others.value = this.cards.value.flatMap(({ name, isHere }) => (isHere ? [] : [name])).sort().join("\n");
  }
}

function cardsOf({ node, nodes, links }: SocietyFrame): NodeCard[] {
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

// Agent that travels in the middle of its work, in loops within calls within a recursion: it moves at any depth, with
// its stack.
//
// `request tour([n2, n1, ...], Seed)`: the agent climbs through 295,230 steps of work. After one in 2,000 of them,
// drawn by the seed (0 if there is none), it moves to the next node of the list, until the list is used up. The sum
// that it reports does not depend on its route.

import { Agent, Message, Performative, Value, moveTo, node, run } from "whimbrel";

/** One step of FNV-1a, 32 bits at once. */
function mix(sum: u32, by: u32): u32 {
  return (sum ^ by) * 16777619;
}

class Tour {
  next: i32 = 0;
  /** Number of moves so far. */
  moves: i32 = 0;
  /** Number of the current step. */
  steps: u32 = 0;

  constructor(private nodes: Array<Value>, private seed: u32) {}

  /** Returns true if the agent moves after this step, drawn by the seed. */
  isDrawn(): bool {
    let drawn: u32 = (this.steps++ * 2654435761) ^ (this.seed * 40503);
    drawn = (drawn ^ (drawn >> 15)) * 2246822519;
    return (drawn ^ (drawn >> 13)) % 2000 == 0;
  }

  /** Moves to the next node, if there is one. Staying, because a node is closed, changes no sum. */
  goOn(): void {
    if (this.next >= this.nodes.length) return;
    const from = node();
    moveTo(this.nodes[this.next++].text);
    if (node() != from) this.moves++;
  }

  /** Loops within a recursion. Each level mixes what those below it made. */
  climb(level: u32): u32 {
    let sum: u32 = 2166136261 ^ level;
    for (let round: u32 = 0; round < 3; round++) {
      if (level > 0) sum = mix(sum, this.climb(level - 1));
      for (let step: u32 = 0; step < 10; step++) {
        sum = mix(sum, round * 10 + step);
        if (this.isDrawn()) this.goOn();
      }
    }
    return sum;
  }
}

class Traveller extends Agent {
  onStart(options: Value): void {
    const requests = new Message(Performative.REQUEST);
    while (true) {
      const asked = requests.receive(-1);
      if (asked === null) continue;
      const given = asked.content.items;
      const tour = new Tour(given[0].items, given.length > 1 ? <u32>given[1].asInt : 0);
      const sum = tour.climb(8);
      const answer = Value.term("sum", [Value.int(sum), Value.int(tour.moves), Value.text(node())]);
      asked.reply(Performative.INFORM, answer).send();
    }
  }
}

run(new Traveller());

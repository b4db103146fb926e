// Agent that travels round, and sends minions: the usual patterns of mobile agents.
//
// `request tour([[n2], [n3, n4]], WithinMs, StayMs)`: the scout goes to each of these stops, on the first node of each
// that it can reach. It tells `visits(Node)` there, stays for `StayMs`, comes home, and tells
// `toured(Nodes, Missed, End, Home)`.
// `request send([n2, n3], Ms, WorkMs)`: the scout stays, sends a minion to the first of these nodes that it can reach,
// and tells the minion's answer. After `WorkMs` of work, a minion on a node whose name begins with `n` counts the
// letters of the name; others fail.

import { Agent, Itinerary, Message, Minion, Performative, TourEnd, Value, dispatch, node, run, sleep } from "whimbrel";

function texts(list: Value): Array<string> {
  const names = new Array<string>();
  for (let i = 0; i < list.items.length; i++) names.push(list.items[i].text);
  return names;
}

function nameOf(end: TourEnd): string {
  if (end == TourEnd.DONE) return "done";
  if (end == TourEnd.LATE) return "late";
  return end == TourEnd.RECALLED ? "recalled" : "no_way_back";
}

class Counter extends Minion {
  constructor(private workMs: i64) {
    super();
  }
  run(): Value | null {
    sleep(this.workMs);
    const here = node();
    this.why = here + " is no name";
    return here.startsWith("n") ? Value.int(here.length) : null;
  }
}

class Scout extends Agent {
  onMessage(message: Message): void {
    const asked = message.content;
    if (asked.isTerm("tour", 3)) {
      message.reply(Performative.INFORM, this.tour(message.sender, asked.items)).send();
    } else if (asked.isTerm("send", 3)) {
      const found = dispatch(texts(asked.items[0]), asked.items[1].asInt, new Counter(asked.items[2].asInt));
      const value = found.value;
      const said = value !== null ? value : Value.text(found.why);
      message.reply(Performative.INFORM, Value.term("heard", [said, Value.text(node())])).send();
    } else if (message.performative == Performative.REQUEST) {
      message.reply(Performative.NOT_UNDERSTOOD, Value.text("tour([[n2], [n3, n4]], WithinMs, StayMs), send([n2], Ms, WorkMs)")).send();
    }
  }

  private tour(asker: string, args: Array<Value>): Value {
    const tour = new Itinerary<i32>().within(args[1].asInt).returning();
    for (let i = 0; i < args[0].items.length; i++) tour.stop(texts(args[0].items[i]), i);
    const seen = new Array<Value>();
    for (let stop = tour.next(); stop !== null; stop = tour.next()) {
      Message.to(asker, Performative.INFORM, Value.term("visits", [Value.text(node())])).send();
      if (args[2].asInt > 0) sleep(args[2].asInt);
      seen.push(Value.text(stop.task.toString() + " on " + stop.node));
    }
    const missed = new Array<Value>();
    for (let i = 0; i < tour.missed.length; i++) missed.push(Value.text(tour.missed[i].node));
    return Value.term("toured", [Value.list(seen), Value.list(missed), Value.atom(nameOf(tour.ended)), Value.text(node())]);
  }
}

run(new Scout());

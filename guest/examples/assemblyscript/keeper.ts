// Agent that leaves notes on the nodes that it visits: `note(Key, Text)`, `look(Key)`, `forget(Key)`, `list(Prefix)`,
// and `go(Node)`.

import { Agent, Message, Performative, Storage, Value, depart, reason, run } from "whimbrel";

const storage = new Storage();

class Keeper extends Agent {
  onMessage(message: Message): void {
    const content = message.content;
    if (!content.isTerm("note", 2) && !content.isTerm(content.text, 1)) {
      return message.reply(Performative.INFORM, Value.text("I keep notes")).send();
    }
    const found = this.done(content.text, content.items[0].text, content.items.length > 1 ? content.items[1].text : "");
    if (found === null) return message.reply(Performative.FAILURE, Value.text(reason())).send();
    message.reply(Performative.INFORM, Value.term("kept", [Value.atom(content.text), found])).send();
  }

  /** Result of a request; null if it was refused. */
  done(what: string, key: string, note: string): Value | null {
    if (what == "note") return storage.putText(key, note) == 0 ? Value.atom("done") : null;
    if (what == "forget") return Value.atom(storage.delete(key) == 0 ? "done" : "nothing");
    if (what == "look") {
      const kept = storage.getText(key);
      return kept === null ? Value.atom("nothing") : Value.text(kept);
    }
    if (what == "list") {
      return Value.list(storage.keys(key).map<Value>((name) => Value.text(name)));
    }
    return depart(key) == 0 ? Value.atom("going") : null;
  }
}

run(new Keeper());

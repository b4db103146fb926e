// Searches the documents that the node offers as `library`, wherever it is: `request find(Word)`.

import { Agent, Documents, Message, Performative, Value, reason, run } from "whimbrel";

class Searcher extends Agent {
  library: Documents = new Documents("library");

  onMessage(message: Message): void {
    if (message.performative != Performative.REQUEST || !message.content.isTerm("find", 1)) {
      message.reply(Performative.NOT_UNDERSTOOD, Value.text("I find words")).send();
      return;
    }
    const found = this.find(message.content.items[0].text);
    if (found === null) message.reply(Performative.FAILURE, Value.text(reason())).send();
    else message.reply(Performative.INFORM, found).send();
  }

  /** Searches documents for a word. Returns the names of those that contain it, and the number of all. */
  find(word: string): Value | null {
    const found = new Array<Value>();
    const count = this.library.count();
    if (count < 0) return null;
    for (let from = 0; from < count; from += 100) {
      const documents = this.library.list(from, 100);
      for (let i = 0; i < documents.length; i++) {
        const text = this.library.read(documents[i].name);
        if (text === null) return null;
        if (text.includes(word)) found.push(Value.text(documents[i].name));
      }
    }
    return Value.term("found", [Value.list(found), Value.int(count)]);
  }
}

run(new Searcher());

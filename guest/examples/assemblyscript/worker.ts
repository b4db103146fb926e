// Sums the numbers that it is asked to sum, and keeps count.

import { Agent, Kind, Message, Performative, Value, register, run } from "whimbrel";

class Worker extends Agent {
  /** Number of sums so far. */
  done: i64 = 0;

  onStart(options: Value): void {
    register("sums", "arithmetic");
  }

  onMessage(message: Message): void {
    const content = message.content;
    if (message.performative != Performative.REQUEST || !content.isTerm("sum", 1) || content.items[0].kind != Kind.LIST) {
      return this.refuse(message);
    }
    const numbers = content.items[0].items;
    let sum: i64 = 0;
    for (let i = 0; i < numbers.length; i++) {
      if (!numbers[i].isInt) return this.refuse(message);
      sum += numbers[i].asInt;
    }
    this.done++;
    message.reply(Performative.INFORM, Value.term("sum", [Value.int(sum), Value.int(this.done)])).send();
  }

  refuse(message: Message): void {
    message.reply(Performative.NOT_UNDERSTOOD, Value.text("I sum lists of whole numbers")).send();
  }
}

run(new Worker());

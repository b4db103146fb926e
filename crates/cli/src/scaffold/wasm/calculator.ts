// Sums what it is asked to sum.

import { Agent, Message, Performative, Value, run } from "whimbrel";

class Calculator extends Agent {
  // What it knows lives in here, and moves with it to other nodes.
  done: i32 = 0;

  onMessage(message: Message): void {
    const content = message.content;
    if (!content.isTerm("sum", 1)) {
      message.reply(Performative.NOT_UNDERSTOOD, Value.text("ask me for sum([1, 2, 3])")).send();
      return;
    }
    this.done++;
    const numbers = content.items[0].items;
    let sum = 0.0;
    for (let i = 0; i < numbers.length; i++) sum += numbers[i].asDouble;
    message.reply(Performative.INFORM, Value.term("sum", [Value.double(sum)])).send();
  }
}

run(new Calculator());

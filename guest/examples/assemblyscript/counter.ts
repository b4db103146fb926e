// Agent that counts its messages, and tells the count when it is asked (query-ref).

import { Agent, Message, Performative, Value, run } from "whimbrel";

class Counter extends Agent {
  seen: i64 = 0;

  onMessage(message: Message): void {
    if (message.performative != Performative.QUERY_REF) {
      this.seen++;
      return;
    }
    message.reply(Performative.INFORM, Value.int(this.seen)).send();
  }
}

run(new Counter());

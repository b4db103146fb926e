/** Agent `tom` in TypeScript: says hello to ada, and to whom ada names. Usage: node hello.ts [tcp://HOST:PORT] */
import { connect, isTerm, term, textOf } from "../../sdk/typescript/dist/node.js";

const platform = await connect(process.argv[2] ?? "tcp://127.0.0.1:7002", { token: process.env["TOKEN"] ?? "open-sesame" });
const tom = await platform.create("tom");
const greeted = new Set<string>();

function sayHello(who: string): void {
  greeted.add(who);
  tom.send({ performative: "inform", receivers: who, content: term("hello", "TypeScript") });
}

sayHello("ada");
for (let heard = 0; heard < 2; ) {
  const { sender, content } = await tom.receive();
  if (isTerm(content, "meet", 1)) sayHello(textOf(content.args[0]) ?? "");
  else if (isTerm(content, "hello", 1)) {
    heard++;
    const who = sender.name.split("@")[0] ?? "";
    console.log(`[tom] ${who} speaks ${textOf(content.args[0])}`);
    if (!greeted.has(who)) sayHello(who);
  }
}
await platform.close();

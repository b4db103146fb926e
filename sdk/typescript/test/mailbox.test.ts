/** Messages that wait, and those that wait for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { message, type Message } from "../src/acl/message.js";
import { Mailbox } from "../src/agents/mailbox.js";

const say = (content: number): Message => message({ performative: "inform", receivers: "bob", content });
const contents = async (waits: readonly Promise<Message>[]): Promise<unknown[]> => (await Promise.all(waits)).map(({ content }) => content);

test("each that waits gets one, the first that asked the first", { timeout: 10_000 }, async () => {
  const mailbox = new Mailbox();
  const inbox = mailbox.listen({}, new AbortController().signal);
  const waits = [inbox.next(), inbox.next({ timeoutMs: 5000 }), inbox.next()];
  mailbox.deliver(say(1));
  mailbox.deliver(say(2));
  const late = inbox.next();
  mailbox.deliver(say(3));
  mailbox.deliver(say(4));
  assert.deepEqual(await contents([...waits, late]), [1, 2, 3, 4]);
});

test("who gives up takes nothing from the others", { timeout: 10_000 }, async () => {
  const mailbox = new Mailbox();
  const inbox = mailbox.listen({}, new AbortController().signal);
  const never = new AbortController();
  const [hasty, patient, picky, last] = [inbox.next({ timeoutMs: 10 }), inbox.next(), inbox.next({ signal: never.signal }), inbox.next({ timeoutMs: 5000 })];
  never.abort(new Error("never mind"));
  await assert.rejects(picky, /never mind/);
  await assert.rejects(hasty, { name: "DeadlineError" });
  mailbox.deliver(say(1));
  mailbox.deliver(say(2));
  assert.deepEqual(await contents([patient, last]), [1, 2]);
});

test("all that wait hear that nothing comes", { timeout: 10_000 }, async () => {
  const ended = new AbortController();
  const inbox = new Mailbox().listen({}, ended.signal);
  const waits = [inbox.next(), inbox.next()];
  inbox.fail(new Error("refused"));
  for (const wait of waits) await assert.rejects(wait, /refused/);
  const other = new Mailbox().listen({}, ended.signal);
  const more = [other.next(), other.next({ timeoutMs: 5000 })];
  ended.abort(new Error("the agent ended"));
  for (const wait of more) await assert.rejects(wait, /the agent ended/);
});

/** Test of mailboxes and inboxes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { message, type Message } from "../src/acl/message.js";
import { CONVERSATIONS_GIVEN_UP_MAX, MAILBOX_BYTES_MAX, MAILBOX_MESSAGES_MAX } from "../src/agents/limits.js";
import { Mailbox } from "../src/agents/mailbox.js";

const say = (content: number): Message => message({ performative: "inform", receivers: "bob", content });
const contents = async (waits: readonly Promise<Message>[]): Promise<unknown[]> => (await Promise.all(waits)).map(({ content }) => content);

test("waiting receivers are served in order", { timeout: 10_000 }, async () => {
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

test("abandoned receiver takes nothing", { timeout: 10_000 }, async () => {
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

test("waiting receivers learn of the end", { timeout: 10_000 }, async () => {
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

test("resumed mailbox delivers everything in order", { timeout: 10_000 }, () => {
  const [taken, errors, unclear]: [unknown[], string[], unknown[]] = [[], [], []];
  const mailbox = new Mailbox({
    failed: (error) => void errors.push(String(error)),
    notUnderstood: ({ content }) => void unclear.push(content),
    mailboxFull: () => assert.fail("there is room"),
  });
  mailbox.handle(({ content }) => {
    if (content === 2) throw new Error("no idea");
    return true;
  }, ({ content }) => {
    taken.push(content);
    if (content === 3) mailbox.suspend();
    return undefined;
  });
  mailbox.suspend();
  for (const content of [1, 2, 3, 4, 5]) mailbox.deliver(say(content));
  mailbox.goOn();
  assert.deepEqual([taken, errors, unclear], [[1, 3], ["Error: no idea"], [2]]);
  mailbox.deliver(say(6));
  mailbox.goOn();
  assert.deepEqual([taken, mailbox.size, mailbox.bytes], [[1, 3, 4, 5, 6], 0, 0]);
});

test("throwing matcher keeps no message from others", async () => {
  const [errors, unclear, done]: [string[], unknown[], number[]] = [[], [], []];
  const mailbox = new Mailbox({
    failed: (error, { content }) => void errors.push(`${String(error)} ${String(content)}`),
    notUnderstood: ({ content }) => void unclear.push(content),
    mailboxFull: () => assert.fail("there is room"),
  });
  const never = new AbortController().signal;
  const broken = (): boolean => {
    throw new Error("no idea");
  };
  const give = (content: number): boolean => mailbox.deliver(say(content), 0, (isTaken) => void (isTaken || done.push(content)));
  give(0);
  const stop = mailbox.handle(broken, () => assert.fail("it does not fit"));
  assert.deepEqual([mailbox.size, errors.splice(0)], [1, ["Error: no idea 0"]], "the message still waits");
  give(1);
  assert.deepEqual([errors.splice(0), unclear, done, mailbox.size], [["Error: no idea 1"], [1], [1], 1]);
  const taken: unknown[] = [];
  mailbox.handle({ performative: "inform" }, ({ content }) => void taken.push(content));
  give(2);
  assert.deepEqual([taken, unclear, done], [[0, 2], [1], [1, 0, 2]], "later handlers are tried, too");
  stop();
  const other = mailbox.receive(broken, {}, never);
  const inbox = mailbox.listen({}, never);
  give(3);
  assert.equal((await inbox.next()).content, 3);
  inbox.fail(new Error("enough"));
  void other.catch(() => undefined);
  assert.equal(mailbox.bytes, 0);
});

const HALF = MAILBOX_BYTES_MAX / 2 - 2000;

test("unfinished handlers occupy memory until done", { timeout: 10_000 }, async () => {
  const mailbox = new Mailbox();
  const ends: (() => void)[] = [];
  const stop = mailbox.handle({}, () => new Promise((done) => void ends.push(done)));
  assert.deepEqual([1, 2, 3].map((content) => mailbox.deliver(say(content), HALF)), [true, true, false]);
  ends.shift()?.();
  await new Promise(setImmediate);
  assert.equal(mailbox.deliver(say(4), HALF), true);
  stop();
  mailbox.handle({}, () => undefined);
  for (const end of ends) end();
  await new Promise(setImmediate);
  assert.equal(mailbox.bytes, 0);
  for (let n = 0; n < 10; n++) assert.equal(mailbox.deliver(say(n), HALF), true, "a finished handler uses no memory");
  assert.equal(mailbox.deliver(say(5), 10 * MAILBOX_BYTES_MAX), true, "one message of any length fits");
});

test("awaited answer arrives despite a full mailbox", { timeout: 10_000 }, async () => {
  const mailbox = new Mailbox();
  const never = new AbortController().signal;
  mailbox.handle({ performative: "request" }, () => new Promise(() => undefined));
  const request = (): boolean => mailbox.deliver(message({ performative: "request" }), HALF);
  assert.deepEqual([request(), request(), request()], [true, true, false]);
  const inbox = mailbox.listen({ performative: "inform" }, never);
  const answer = inbox.next();
  assert.equal(mailbox.deliver(say(1), HALF), true);
  assert.equal((await answer).content, 1);
  assert.equal(mailbox.deliver(say(2), HALF), false, "no receiver waits for it");
  inbox.close();
  assert.equal(mailbox.deliver(say(3), HALF), false, "waiting messages count, too");
});

test("memory is released by any receiver", { timeout: 10_000 }, async () => {
  const mailbox = new Mailbox();
  const never = new AbortController().signal;
  const fill = (): void => assert.deepEqual([mailbox.deliver(say(1), HALF), mailbox.deliver(say(2), HALF), mailbox.deliver(say(3), HALF)], [true, true, false]);
  fill();
  await mailbox.receive({}, {}, never);
  await mailbox.receive({}, {}, never);
  assert.equal(mailbox.bytes, 0);
  fill();
  const inbox = mailbox.listen({}, never);
  await inbox.next();
  inbox.close();
  assert.equal(mailbox.bytes, 0);
  assert.equal((await inbox.next()).content, 2, "stored messages can still be taken");
  assert.equal(mailbox.bytes, 0);
  fill();
  mailbox.handle({}, () => undefined);
  assert.equal(mailbox.bytes, 0);
});

test("late answers are dropped", () => {
  const mailbox = new Mailbox();
  const answer = (inReplyTo: string): Message => message({ performative: "inform", inReplyTo, conversationId: "c" });
  mailbox.deliver(answer("q1"));
  assert.equal(mailbox.size, 1);
  mailbox.giveUp("q1");
  assert.deepEqual([mailbox.size, mailbox.bytes], [0, 0], "the answer came in time");
  for (let n = 0; n <= MAILBOX_MESSAGES_MAX; n++) assert.equal(mailbox.deliver(answer("q1")), true);
  mailbox.deliver(answer("q2"));
  assert.equal(mailbox.size, 1, "the same conversation, another question");
  mailbox.giveUp("c");
  mailbox.deliver(message({ performative: "inform", conversationId: "c" }));
  assert.equal(mailbox.size, 1);
  let handled = 0;
  mailbox.handle({ performative: "inform" }, () => void handled++);
  mailbox.deliver(answer("q1"));
  assert.equal(handled, 2, "a handler takes a matching answer");
});

test("abandoned conversations are limited", () => {
  const mailbox = new Mailbox();
  for (let n = 0; n <= CONVERSATIONS_GIVEN_UP_MAX; n++) mailbox.giveUp(`q${n}`);
  for (const inReplyTo of ["q0", "q1", `q${CONVERSATIONS_GIVEN_UP_MAX}`]) mailbox.deliver(message({ performative: "inform", inReplyTo }));
  assert.equal(mailbox.size, 1);
});

test("loop finishes a message when it continues", async () => {
  const ending = new AbortController();
  const mailbox = new Mailbox();
  const done: number[] = [];
  const give = (at: number): boolean => mailbox.deliver(message({ performative: "inform", sender: "amy", receivers: "bob", content: BigInt(at) }), 0, (isTaken) => void (isTaken || done.push(at)));
  const inbox = mailbox.listen({}, ending.signal);
  give(1);
  const seen: (readonly number[])[] = [];
  for await (const { content } of inbox) {
    seen.push([...done]);
    if (content === 3n) break;
    // The next one arrives while nobody waits, or while somebody does.
    if (content === 1n) give(2);
    else setTimeout(() => give(3), 5);
  }
  assert.deepEqual([seen, done], [[[], [1], [1, 2]], [1, 2, 3]]);
  const other = mailbox.listen({}, ending.signal);
  give(4);
  assert.equal((await other.next()).content, 4n);
  assert.deepEqual(done, [1, 2, 3, 4], "a message that was received directly is handled");
  give(5);
  other.close();
  assert.equal((await other.next()).content, 5n);
  assert.deepEqual(done, [1, 2, 3, 4, 5]);
});

/** Test of this library on a real node, by TCP and WebSocket. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { join } from "node:path";
import WebSocket from "ws";
import { compact } from "../src/compact.js";
import {
  Agent,
  atom,
  connect,
  contractNet,
  EndedError,
  isTerm,
  onContractNet,
  onQuery,
  onRequest,
  onSubscribe,
  queryRef,
  Refusal,
  request,
  subscribe,
  term,
  type Change,
  type Form,
  type Message,
  type NodeConnectOptions,
  type Platform,
} from "../src/node.js";
import { Proxy } from "./proxy.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";
import { repository } from "./vectors.js";

const FORMS: readonly (readonly [string, Form])[] = [
  ["json", "json"],
  ["compact", compact],
];

/** Echoes requests, and calls back on request. */
const ECHO = `+!kqml_received(S, request, C, Id) <- .send(S, inform, C, Id).`;

/** Sends messages 1 to N on request. */
const STREAM = `+!stream(N)[source(S)] <- for ( .range(I, 1, N) ) { .send(S, tell, item(I)) }.`;

/** Bids for jobs as a contractor of the contract net. */
const CONTRACTOR = `
  bid(mow, 30). bid(paint, 50).
  +!kqml_received(I, cfp, Job, _) : bid(Job, P) <- .send(I, propose, offer(Job, P)).
  +!kqml_received(I, cfp, Job, _) <- .send(I, refuse, Job).
  +!kqml_received(I, accept_proposal, offer(Job, _), _) <- .send(I, inform, done(Job)).
  +!kqml_received(_, reject_proposal, _, _) <- +sad.`;

describe("on a real node", { skip: WITHOUT_NODE, concurrency: false, timeout: 300_000 }, () => {
  let society: Society;
  before(async () => {
    society = await Society.of({ echo: ECHO, stream: STREAM, ada: CONTRACTOR, bruno: CONTRACTOR.replace("30", "20"), fern: "" });
  });
  after(() => society.stop());

  const join_ = (options: NodeConnectOptions = {}, address = society.address): Promise<Platform> => connect(`tcp://${address}`, { token: TOKEN, ...options });

  /** Opens a platform for one test. */
  async function withPlatform(run: (platform: Platform) => Promise<void>, options: NodeConnectOptions = {}): Promise<void> {
    const platform = await join_(options);
    try {
      await run(platform);
    } finally {
      await platform.close();
    }
    assert.equal((await platform.closed).code, "bye");
  }

  for (const [name, form] of FORMS) {
    test(`agent joins, asks, is answered, leaves, in ${name}`, () =>
      withPlatform(
        async (platform) => {
          const bob = await platform.create("bob");
          assert.equal(bob.aid.toString(), `bob@${platform.name}`);
          const content = term("f", 3n, "é", atom("b"), [1.5, null, true]);
          const answer = await bob.ask({ performative: "request", receivers: "echo", content });
          assert.equal(answer.sender.toString(), "echo");
          assert.ok(isTerm(answer.content, "f", 4));
          assert.equal(answer.content.args[1], "é");
          assert.deepEqual(platform.agents, [bob]);
          await bob.end();
          assert.equal(await bob.ended, "finished");
          assert.throws(() => bob.send({ performative: "inform", receivers: "echo" }), { name: "EndedError" });
          assert.equal((await platform.create("bob")).name, "bob", "the name and the number are free again");
        },
        { form },
      ));
  }

  test("agents are classes or functions with behaviours", () =>
    withPlatform(async (platform) => {
      class Counter extends Agent {
        ticks = 0;
        reason = "";
        override setup(): void {
          this.every(5, () => void this.ticks++);
          this.onMessage({ performative: "query-ref" }, (message) => this.reply(message, "inform", this.ticks));
        }
        override takeDown(reason: string): void {
          this.reason = reason;
        }
      }
      const counter = await platform.create("counter", new Counter());
      const told: unknown[] = [];
      const asker = await platform.create("asker", (agent) => {
        agent.after(30, () => told.push("later"));
        agent.run(() => told.push("now"));
      });
      while (counter.ticks < 3 || told.length < 2) await pause(2);
      const answer = await asker.ask({ performative: "query-ref", receivers: counter.aid });
      assert.ok(Number(answer.content) >= 3, String(answer.content));
      assert.deepEqual(told, ["now", "later"]);
      await counter.end();
      assert.equal(counter.reason, "finished");
      const { ticks } = counter;
      await pause(30);
      assert.equal(counter.ticks, ticks, "behaviours end with the agent");
    }));

  test("unhandled message waits for a receiver", () =>
    withPlatform(async (platform) => {
      const [bob, amy] = [await platform.create("bob"), await platform.create("amy")];
      for (const n of [1, 2, 3]) bob.send({ performative: "inform", receivers: "amy", content: n, conversationId: `c${n}` });
      const second = await amy.receive({ conversationId: "c2" }, { timeoutMs: 5000 });
      assert.equal(second.content, 2);
      const rest: unknown[] = [];
      amy.onMessage((message) => rest.push(message.content));
      bob.send({ performative: "inform", receivers: "amy", content: 4 });
      while (rest.length < 3) await pause(5);
      assert.deepEqual(rest, [1, 3, 4]);
      await assert.rejects(amy.receive({}, { timeoutMs: 20 }), { name: "DeadlineError" });
      await assert.rejects(amy.receive({}, { signal: AbortSignal.abort(new Error("never mind")) }), /never mind/);
    }));

  test("agent may ask itself in an open conversation", () =>
    withPlatform(async (platform) => {
      const bob = await platform.create("bob", (agent) => agent.onMessage({ performative: "request" }, (message) => agent.reply(message, "inform", message.content)));
      const amy = await platform.create("amy");
      assert.equal((await bob.ask({ performative: "request", receivers: "bob", content: 1 })).content, 1);
      amy.send({ performative: "inform", receivers: "amy", conversationId: "c1", inReplyTo: "earlier", content: "no answer" });
      assert.equal((await amy.ask({ performative: "request", receivers: "bob", conversationId: "c1", content: 2 })).content, 2);
      assert.equal((await amy.receive({}, { timeoutMs: 5000 })).content, "no answer");
    }));

  test("failures are reported", () =>
    withPlatform(async (platform) => {
      const bob = await platform.create("bob");
      await assert.rejects(platform.create("bob"), { name: "RefusedError", code: "name-taken" });
      await assert.rejects(platform.create("b@d"), { name: "RefusedError", code: "bad-name" });
      await assert.rejects(bob.ask({ performative: "request", receivers: "nobody" }), { name: "FailureError" });
      await assert.rejects(bob.ask({ performative: "request", content: "to whom?" }), { name: "RefusedError", code: "no-receiver" });
      await assert.rejects(bob.ask({ performative: "request", receivers: "echo", sender: "amy" }), { name: "RefusedError", code: "forged-sender" });
      await assert.rejects(bob.ask({ performative: "propose", receivers: "fern" }, { timeoutMs: 50 }), { name: "DeadlineError" });
      await assert.rejects(bob.ask({ performative: "request", receivers: "df", content: term("dance") }), { name: "RefuseError" });
      await assert.rejects(bob.ask({ performative: "propose", receivers: "df", content: "?" }), { name: "NotUnderstoodError" });
      assert.throws(() => bob.send({ performative: "inform", receivers: "no@" }), { name: "EncodeError" });
      assert.throws(() => bob.send({ performative: "inform", receivers: "echo", content: "x".repeat(2 << 20) }), { name: "EncodeError" });
      await assert.rejects(bob.certify("no request"), { name: "RefusedError" });
      const errors: unknown[] = [];
      bob.onError = (error) => errors.push((error as Error).message);
      const picky = bob.onMessage((message) => JSON.parse(String(message.content)) === 1, () => undefined);
      const heard = bob.receive({ performative: "not-understood" });
      bob.send({ performative: "inform", receivers: "bob", content: "{" });
      assert.equal((await heard).content, "{");
      assert.deepEqual(errors.length, 1);
      assert.match(String(errors.pop()), /JSON/);
      picky();
      bob.onMessage(() => {
        throw new Error("I cannot");
      });
      bob.send({ performative: "inform", receivers: "bob" });
      bob.send({ performative: "inform" });
      while (errors.length < 2) await pause(5);
      assert.deepEqual(errors.sort(), ["I cannot", "no-receiver: the message has no receiver"].sort());
    }));

  test("refused client learns why", async () => {
    await assert.rejects(join_({ token: "guessed" }), { name: "SessionError", code: "unauthorised" });
    await assert.rejects(join_({ patienceMs: 300 }, "127.0.0.1:1"), { name: "SessionError", code: "unreachable" });
    await assert.rejects(connect("ftp://host"), /cannot connect to ftp/);
    await assert.rejects(async () => connect("tcp://host"), /no port/);
  });

  test("DF registers, searches, notifies, deregisters", () =>
    withPlatform(async (platform) => {
      const [bob, amy] = [await platform.create("bob"), await platform.create("amy")];
      const changes: Change[] = [];
      const cancel = await amy.df.subscribe({ services: [{ type: "weather" }] }, (change) => changes.push(change));
      await bob.df.register({ services: [{ name: "rain", type: "weather", languages: ["fipa-sl0"], properties: { price: 5 } }], leaseMs: 60_000 });
      await assert.rejects(bob.df.register({}), { name: "FailureError" });
      const [found, ...more] = await amy.df.search({ services: [{ type: "weather" }] });
      assert.equal(more.length, 0);
      assert.ok(found);
      assert.ok(found.name.equals(bob.aid));
      assert.deepEqual(found.services[0]?.properties, { price: 5 });
      assert.ok((found.leaseUntilMs ?? 0) > Date.now());
      assert.deepEqual(await amy.df.search({ services: [{ type: "sport" }] }), []);
      assert.equal((await amy.df.search({}, { maxResults: 1 })).length, 1);
      await bob.df.modify({ services: [{ name: "snow", type: "weather" }] });
      await bob.df.deregister();
      while (changes.length < 3) await pause(5);
      assert.deepEqual(
        changes.map(({ agent, entry }) => [agent.name, entry?.services[0]?.name]),
        [
          ["bob", "rain"],
          ["bob", "snow"],
          ["bob", undefined],
        ],
      );
      cancel();
      await bob.df.register({ services: [{ type: "weather" }] });
      await bob.df.deregister();
      await pause(50);
      assert.equal(changes.length, 3);
      assert.equal(amy.waiting, 0, "no handler gets the answer to the last message");
    }));

  test("AMS lists, suspends, kills, manages topics and groups", () =>
    withPlatform(async (platform) => {
      const [bob, amy] = [await platform.create("bob"), await platform.create("amy")];
      assert.deepEqual(
        (await bob.ams.search({ name: "e*" })).map(({ name, state }) => [name.name, state]),
        [["echo", "active"]],
      );
      assert.equal(await bob.ams.platformName(), platform.name);
      await amy.ams.join("topic:weather");
      bob.send({ performative: "inform", receivers: "topic:weather", content: "rain" });
      assert.equal((await amy.receive({ receiver: "topic:weather" }, { timeoutMs: 5000 })).content, "rain");
      await amy.ams.leave("topic:weather");
      await assert.rejects(amy.ams.leave("topic:weather"), { name: "FailureError" });
      await assert.rejects(bob.ams.kill("echo"), { name: "RefuseError" });
      await bob.ams.setState(bob.aid, "active").catch((error: unknown) => assert.equal((error as Error).name, "FailureError"));
      void bob.ams.kill(bob.aid).catch(() => undefined);
      assert.match(await bob.ended, /killed|finished/);
    }));

  test("request, query and subscribe work both ways", () =>
    withPlatform(async (platform) => {
      const server = await platform.create("server", (agent) => {
        onRequest(agent, ({ content }) => {
          if (content === "refuse") throw new Refusal("busy");
          if (content === "fail") throw new Error("broken");
          return content;
        }, { agree: true });
        onQuery(agent, ({ content }) => content);
        agent.onError = () => undefined;
        onSubscribe(agent, ({ message, tell, signal }) => {
          if (message.content !== "clock") throw new Refusal("what?");
          let n = 0;
          const timer = setInterval(() => tell(++n), 5);
          signal.addEventListener("abort", () => clearInterval(timer));
        });
      });
      const client = await platform.create("client");
      assert.equal((await request(client, server.aid, "go")).content, "go");
      await assert.rejects(request(client, "server", "refuse"), { name: "RefuseError" });
      await assert.rejects(request(client, "server", "fail"), { name: "FailureError" });
      assert.equal((await queryRef(client, "server", "x")).protocol, "fipa-query");
      await assert.rejects(subscribe(client, "server", "nothing"), { name: "RefuseError" });
      const clock = await subscribe(client, "server", "clock");
      assert.equal((await clock.next({ timeoutMs: 5000 })).content, 1);
      const heard: unknown[] = [];
      for await (const { content } of clock) if (heard.push(content) === 3) break;
      assert.deepEqual(heard, [2, 3, 4]);
      clock.cancel();
      await pause(50);
      assert.equal(client.waiting, 0, "messages after the end reach no handler");
    }));

  test("AgentSpeak agents bid in a contract net", () =>
    withPlatform(async (platform) => {
      const boss = await platform.create("boss");
      const carl = await platform.create("carl", (agent) => onContractNet(agent, { bid: () => term("offer", atom("mow"), 90), perform: () => null }));
      const price = (content: Message["content"]): number => (isTerm(content, "offer", 2) ? Number(content.args[1]) : Infinity);
      const call = (job: string) =>
        contractNet(boss, {
          participants: ["ada", "bruno", carl.aid, "fern", "nobody"],
          content: atom(job),
          // One of them never answers; the others do in this time, on a busy machine, too.
          deadlineMs: 2000,
          select: (proposals) => [...proposals].sort((one, other) => price(one.content) - price(other.content)).slice(0, 1),
        });
      const mow = await call("mow");
      assert.deepEqual(mow.proposals.map((proposal) => [proposal.agent.name, price(proposal.content)]).sort(), [["ada", 30], ["bruno", 20], ["carl", 90]]);
      assert.deepEqual(mow.outcomes.map(({ proposal, error }) => [proposal.agent.name, error]), [["bruno", undefined]]);
      assert.deepEqual(mow.outcomes[0]?.result?.content, term("done", atom("mow")));
      assert.deepEqual(mow.silent.map(String), ["fern"], "a missing participant counts as answered by the AMS");
      const fly = await call("fly");
      assert.deepEqual(fly.refused.map(({ sender, performative }) => `${sender.name} ${performative}`).sort(), ["ada refuse", "ams failure", "bruno refuse"]);
      assert.equal(fly.outcomes[0]?.proposal.agent.name, "carl");
    }));

  test("contract net without participants ends at once", { timeout: 60_000 }, () =>
    withPlatform(async (platform) => {
      const boss = await platform.create("boss");
      const net = await contractNet(boss, { participants: ["nobody", "no-one@home"], content: "mow", deadlineMs: 600_000, select: (proposals) => proposals });
      assert.deepEqual([net.refused.map(({ sender }) => sender.name), net.silent], [["ams", "ams"], []]);
    }));

  test("ended contractor is not waited for", { timeout: 60_000 }, () =>
    withPlatform(async (platform) => {
      const boss = await platform.create("boss");
      const quitter = await platform.create("quitter", (agent) => onContractNet(agent, { bid: () => 1, perform: () => new Promise(() => agent.after(500, () => agent.end())) }));
      const steady = await platform.create("steady", (agent) => onContractNet(agent, { bid: () => 2, perform: () => new Promise((resolve) => setTimeout(() => resolve("done"), 2500)) }));
      const { outcomes } = await contractNet(boss, { participants: [quitter.aid, steady.aid], content: "mow", deadlineMs: 5000, resultMs: Infinity, select: (proposals) => proposals });
      const [left, stayed] = ["quitter", "steady"].map((name) => outcomes.find(({ proposal }) => proposal.agent.name === name));
      assert.ok(left?.error instanceof EndedError && left.result === undefined);
      assert.equal(left.error.message, "quitter ended before it sent a result");
      assert.equal(stayed?.result?.content, "done", "the initiator waits for a slow contractor");
    }));

  test("unhandled messages return however the agent ends", { timeout: 60_000 }, () =>
    withPlatform(async (platform) => {
      const asker = await platform.create("asker");
      const ask = (receivers: string) => asker.ask({ performative: "request", receivers, content: 1 }, { timeoutMs: 30_000 });
      const waits = async (agent: Agent): Promise<void> => {
        while (agent.waiting === 0) await pause(2);
      };
      const isUndelivered = { name: "FailureError", message: /cannot be reached/ };

      const other = await join_({ leaseMs: 1000 });
      const holder = await other.create("holder");
      const ends = assert.rejects(ask("holder"), isUndelivered);
      await waits(holder);
      await holder.end();
      await ends;

      let begun = (): void => undefined;
      const isBegun = new Promise<void>((resolve) => (begun = resolve));
      const busy = await other.create("busy", (agent) => agent.onMessage({ performative: "request" }, () => (begun(), new Promise(() => undefined))));
      const inTheMiddle = assert.rejects(ask("busy"), isUndelivered);
      await isBegun;
      await busy.end();
      await inTheMiddle;

      const failing = other.create("failing", async (agent) => {
        const asked = assert.rejects(ask("failing"), isUndelivered);
        await waits(agent);
        setTimeout(() => void asked.catch(() => undefined));
        throw Object.assign(new Error("it cannot be"), { asked });
      });
      const error = await failing.then(() => assert.fail("it was set up"), (thrown: Error & { asked: Promise<void> }) => thrown);
      await error.asked;

      const killed = await other.create("killed");
      const kills = assert.rejects(ask("killed"), isUndelivered);
      await waits(killed);
      // Only the AMS ends the agent, at its own request. It is gone before the answer arrives.
      void killed.ams.kill(killed.aid).catch(() => undefined);
      await kills;

      const last = await other.create("last");
      const closes = assert.rejects(ask("last"), isUndelivered);
      await waits(last);
      await other.close();
      await closes;
    }));

  test("unhandled messages of a killed program return", { timeout: 60_000 }, () =>
    withPlatform(async (platform) => {
      const program = `
        import { connect } from ${JSON.stringify(join(repository(), "sdk/typescript/.build/src/node.js"))};
        const platform = await connect("tcp://${society.address}", { token: ${JSON.stringify(TOKEN)}, leaseMs: 1000 });
        const agent = await platform.create("doomed");
        agent.onMessage({ performative: "query-ref" }, (asked) => agent.reply(asked, "inform", "well"));
        console.log("there");
        setInterval(() => agent.waiting > 0 && console.log("waiting"), 5);`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
      let printed = "";
      child.stdout.on("data", (data: Uint8Array) => (printed += String(data)));
      while (!printed.includes("there")) await pause(5);
      const asker = await platform.create("asker");
      const held = asker.ask({ performative: "request", receivers: "doomed" }, { timeoutMs: 30_000 });
      const isFailed = assert.rejects(held, { name: "FailureError", message: /cannot be reached/ });
      while (!printed.includes("waiting")) await pause(5);
      assert.equal((await asker.ask({ performative: "query-ref", receivers: "doomed" })).content, "well");
      child.kill("SIGKILL");
      await isFailed;
    }));

  test("closing platform loses nothing it handled", { timeout: 60_000 }, () =>
    withPlatform(async (platform) => {
      const amy = await platform.create("amy");
      const failures: Message[] = [];
      amy.onMessage({ performative: "failure" }, (message) => void failures.push(message));
      for (let round = 0; round < 10; round++) {
        const other = await join_();
        const bob = await other.create("bob");
        const closed = new Promise<void>((resolve) => bob.onMessage({ performative: "inform" }, () => void other.close().then(resolve)));
        amy.send({ performative: "inform", receivers: "bob" });
        await closed;
      }
      await amy.ask({ performative: "request", receivers: "echo", content: 1 });
      assert.deepEqual(failures, []);
    }));

  test("too many results are reported", { timeout: 60_000 }, () =>
    withPlatform(async (platform) => {
      for (let number = 0; number < 60; number++) {
        const agent = await platform.create(`bulk${number}`);
        await agent.df.register({ services: [{ name: `service${number}`, type: "bulk" }] });
      }
      const small = await join_({ messageBytes: 8_000 });
      const asker = await small.create("asker");
      asker.onError = () => undefined;
      await assert.rejects(asker.df.search({ services: [{ type: "bulk" }] }), { name: "FailureError", message: /too many results: give max-results/ });
      assert.equal((await asker.df.search({ services: [{ type: "bulk" }] }, { maxResults: 5 })).length, 5);
      await assert.rejects(asker.ams.search({}), { name: "FailureError", message: /too many results: give max-results/ });
      await small.close();
    }));

  test("AMS refusal names its reason first", () =>
    withPlatform(async (platform) => {
      const bob = await platform.create("bob");
      await assert.rejects(bob.ams.kill("weatherman"), { name: "FailureError", message: "ams answers failure: not-registered, for deregister(weatherman)" });
      await assert.rejects(bob.ams.kill("fern"), { name: "RefuseError", message: "ams answers refuse: unauthorised, for deregister(fern)" });
      await assert.rejects(bob.ask({ performative: "request", receivers: "nobody" }), { name: "FailureError", message: "ams answers failure: nobody cannot be reached: unknown agent" });
    }));

  for (const [name, form] of FORMS) {
    test(`10,000 messages survive a breaking network in ${name}`, { timeout: 120_000 }, async () => {
      const messages = 10_000;
      const proxy = await Proxy.to(society.address);
      const platform = await join_({ form }, proxy.address);
      const bob = await platform.create("bob");
      try {
        const echoed: number[] = [];
        const told: number[] = [];
        const all = new Promise<void>((resolve) => {
          const isAll = (): void => void (echoed.length + told.length === 2 * messages && resolve());
          bob.onMessage({ performative: "inform" }, ({ content }) => (echoed.push(Number(content)), isAll()));
          bob.onMessage({ performative: "tell" }, ({ content }) => (told.push(Number((content as { args: readonly unknown[] }).args[0])), isAll()));
        });
        bob.send({ performative: "achieve", receivers: "stream", content: term("stream", messages) });
        for (let n = 1; n <= messages; n++) {
          bob.send({ performative: "request", receivers: "echo", content: n });
          if (n % 100 === 0) await pause(3);
          // In the middle of a burst, however quick both ends are.
          if (n % 1250 !== 1150) continue;
          while (!proxy.isConnected) await pause(1);
          proxy.cut();
        }
        await all;
        const expected = Array.from({ length: messages }, (_, at) => at + 1);
        assert.deepEqual(told, expected, "in their order, each once");
        assert.deepEqual(echoed, expected, "in their order, each once");
        assert.equal(proxy.cuts, 8);
      } finally {
        await platform.close();
        await proxy.close();
      }
    });
  }

  test("frozen network ends no session", { timeout: 30_000 }, async () => {
    const proxy = await Proxy.to(society.address);
    const platform = await join_({ leaseMs: 6000 }, proxy.address);
    try {
      const bob = await platform.create("bob");
      await bob.ask({ performative: "request", receivers: "echo", content: 1 });
      proxy.freeze();
      const answer = await bob.ask({ performative: "request", receivers: "echo", content: 2 }, { timeoutMs: 12_000 });
      assert.equal(Number(answer.content), 2);
      assert.deepEqual(platform.agents, [bob]);
    } finally {
      await platform.close();
      await proxy.close();
    }
  });

  test("forgotten session ends with its agents", async () => {
    const proxy = await Proxy.to(society.address);
    const platform = await join_({ leaseMs: 1000 }, proxy.address);
    const bob = await platform.create("bob");
    const waiting = bob.receive();
    await proxy.close();
    await assert.rejects(waiting, { name: "EndedError" });
    assert.equal((await platform.closed).code, "lease-over");
    assert.equal(platform.agents.length, 0);
    await assert.rejects(platform.create("amy"), { name: "SessionError" });
  });

  test("agent in a Worker works like any other", { timeout: 60_000 }, async () => {
    const url = `ws://${society.gateway}/session`;
    const worker = new Worker(new URL("./worker.js", import.meta.url), { workerData: { url, token: TOKEN } });
    try {
      await once(worker, "message");
      await withPlatform(async (platform) => {
        const bob = await platform.create("bob");
        assert.equal((await bob.ask({ performative: "request", receivers: "worker", content: "hello" })).content, "hello");
      });
      worker.postMessage("leave");
      const [code] = (await once(worker, "exit")) as [number];
      assert.equal(code, 0, "a program whose session is over has nothing left to do");
    } finally {
      await worker.terminate();
    }
  });

  for (const [name, form] of FORMS) {
    test(`WebSocket works in ${name}`, async () => {
      const proxy = await Proxy.to(society.gateway);
      try {
        // The console's address works, too.
        const platform = await connect(`http://${proxy.address}${form === "json" ? "/#token=x" : "/session"}`, { token: TOKEN, form, WebSocket });
        const bob = await platform.create("bob");
        assert.equal((await bob.ask({ performative: "request", receivers: "echo", content: "hello" })).content, "hello");
        proxy.cut();
        assert.equal((await bob.ask({ performative: "request", receivers: "echo", content: "again" })).content, "again");
        assert.equal(proxy.cuts, 1);
        await platform.close();
      } finally {
        await proxy.close();
      }
    });
  }
});

describe("society of an example", { skip: WITHOUT_NODE }, () => {
  test("TypeScript contractor wins what it does cheapest", { timeout: 60_000 }, async () => {
    const society = await Society.run(join(repository(), "examples/contract-net"));
    try {
      const platform = await connect(`tcp://${society.address}`, { token: TOKEN });
      const done: Message[] = [];
      const gus = await platform.create("gus", async (agent) => {
        onContractNet(agent, {
          bid: ({ content }) => (isTerm(content, "fly") ? term("offer", content, 7) : undefined),
          perform: (verdict) => {
            done.push(verdict);
            return term("done", verdict.content);
          },
        });
        await agent.df.register({ services: [{ name: "contractor", type: "contractor" }] });
      });
      const output = await society.finished();
      assert.match(output, /gus gets fly\(to_the_moon\) for 7/);
      assert.match(output, /gus reports: fly\(to_the_moon\) is done/);
      assert.equal(done.length, 1);
      assert.equal((await platform.closed).code, "stopping");
      assert.ok(await gus.ended);
    } finally {
      society.stop();
    }
  });
});

/**
 * Tests of agents: a platform in memory, in virtual time, with a recording of all conversations. It needs no node, and
 * no test runner of its own:
 *
 * ```ts
 * import { test } from "node:test";
 * import { inVirtualTime } from "whimbrel/testing";
 *
 * test("greeter answers", () =>
 *   inVirtualTime(async ({ platform, says, advance }) => {
 *     await platform.create("ada", (agent) => agent.onMessage((message) => agent.reply(message, "inform", "hello")));
 *     const bob = await platform.create("bob");
 *     await bob.ask({ performative: "request", receivers: "ada" });
 *     says("ada", { performative: "inform", content: "hello", to: "bob" });
 *     await advance(3_600_000);
 *   }));
 * ```
 *
 * @packageDocumentation
 */
import type { AidLike } from "./acl/aid.js";
import type { Message } from "./acl/message.js";
import { connect, type ConnectOptions } from "./agents/connect.js";
import type { Platform } from "./agents/platform.js";
import { MemoryNode } from "./testing/memory-node.js";
import type { Expected, Recording } from "./testing/recording.js";
import { VirtualTime } from "./testing/virtual-time.js";

export { MemoryNode } from "./testing/memory-node.js";
export { ExpectationError, Recording, type Expected, type RecordedMessage } from "./testing/recording.js";
export { StuckError, VirtualTime } from "./testing/virtual-time.js";

/** Milliseconds of the lease: as long as nodes permit, so that an hour of virtual time has few signs of life. */
const LEASE_MS = 300_000;

/** Surroundings of a test in virtual time. */
export interface TestWorld {
  /** The platform of the test. */
  readonly platform: Platform;
  readonly node: MemoryNode;
  readonly recording: Recording;
  readonly time: VirtualTime;
  /** Asserts that an agent said a message, or exactly so many: see {@link Recording.assertSays}. */
  says(agent: AidLike, expected?: Expected): Message | undefined;
  /** Lets virtual time pass. */
  advance(ms: number): Promise<void>;
  /** Waits until all messages are delivered and handled, at this moment of virtual time. */
  settle(): Promise<void>;
  /** Joins the node as another program does. */
  another(options?: ConnectOptions): Promise<Platform>;
  /** Breaks the connections. Sessions connect again, and lose nothing. */
  cut(): void;
}

/** Joins a node in memory. */
export function connectInMemory(node: MemoryNode, options: ConnectOptions = {}): Promise<Platform> {
  return connect("ws://memory.invalid", { leaseMs: LEASE_MS, ...options, transport: node.transport });
}

/**
 * Runs a test with a platform in memory, in virtual time: `setTimeout`, `Date.now`, deadlines and behaviours follow it.
 * When the test waits for something that takes time, time jumps there. The platform is closed at the end.
 */
export async function inVirtualTime<T>(test: (world: TestWorld) => Promise<T>): Promise<T> {
  const time = new VirtualTime();
  return time.run(async () => {
    const node = new MemoryNode();
    const opened: Platform[] = [];
    const another = async (options?: ConnectOptions): Promise<Platform> => {
      const platform = await connectInMemory(node, options);
      opened.push(platform);
      return platform;
    };
    const platform = await another();
    try {
      return await test({
        platform,
        node,
        recording: node.recording,
        time,
        says: (agent, expected) => node.recording.assertSays(agent, expected),
        advance: (ms) => time.advance(ms),
        settle: () => time.settle(),
        another,
        cut: () => [...node.sessions.values()].forEach((session) => session.cut()),
      });
    } finally {
      await Promise.all(opened.map((one) => one.close()));
    }
  });
}

/** Machines of all conversations of one agent. They have no clock and no network. */
import type { Aid } from "../acl/aid.js";
import type { Message } from "../acl/message.js";
import { unreachedIn } from "../agents/directory.js";
import { CONVERSATIONS_ENDED_MAX, CONVERSATIONS_OPEN_MAX } from "./limits.js";
import { complaint, Machine, nextState, type Judgement, type Protocol, type Saying } from "./machine.js";

/** A judged message, and the machine that judged it. */
export interface JudgedMessage extends Judgement {
  readonly machine: Machine | undefined;
  /** Conversation identifier of the machine. */
  readonly conversationId: string | undefined;
  /** Name of the other agent of the conversation. */
  readonly other: string;
}

/** Machines of one agent, by conversation and other agent. Of conversations that ended, the newest are kept. */
export class Machines {
  readonly #open = new Map<string, Machine>();
  readonly #ended = new Map<string, Machine>();
  /** Conversations in which agents answer that are not known yet: the question that each was asked. */
  readonly #expected = new Map<string, readonly [Protocol, Saying]>();

  /**
   * @param protocols Protocols that are judged, by name.
   * @param nameOf Name of an agent: agents of this platform without their platform.
   */
  constructor(
    readonly protocols: ReadonlyMap<string, Protocol>,
    readonly nameOf: (other: Aid) => string = String,
  ) {}

  /** Returns the machine of a conversation with another agent, after its deadline if that has passed. */
  find(conversationId: string, other: string, nowMs = 0): Machine | undefined {
    const key = keyOf(conversationId, other);
    const open = this.#open.get(key);
    if (open?.tick(nowMs)) this.#keep(key, open);
    return open ?? this.#ended.get(key);
  }

  /** Expects answers to a question that others pass on. The returned function ends that. */
  expect(conversationId: string, protocol: Protocol, question: Saying): () => void {
    this.#expected.set(conversationId, [protocol, question]);
    return () => void this.#expected.delete(conversationId);
  }

  #expectedMachine(conversationId: string, nowMs: number): Machine | undefined {
    const [protocol, question] = this.#expected.get(conversationId) ?? [];
    if (!protocol || !question) return undefined;
    const machine = new Machine(protocol, "initiator");
    machine.send(question, nowMs);
    return machine;
  }

  /**
   * Notes an own message to all its receivers.
   *
   * @throws {@link ProtocolError} if the protocol does not allow it towards one of them. Nothing changes then.
   */
  send(message: Message, nowMs: number): void {
    const { conversationId, protocol = "" } = message;
    if (conversationId === undefined) return;
    const known = this.protocols.get(protocol);
    const judged = message.receivers.flatMap((receiver) => {
      const other = this.nameOf(receiver);
      const machine = this.find(conversationId, other) ?? (known && new Machine(known, "initiator"));
      machine?.check(message.performative, nowMs);
      return machine ? [[other, machine] as const] : [];
    });
    for (const [other, machine] of judged) {
      machine.send(message, nowMs);
      this.#keep(keyOf(conversationId, other), machine);
    }
  }

  /** Judges a received message. Undefined if it belongs to no protocol that is judged. */
  receive(message: Message, nowMs: number): JudgedMessage | undefined {
    const unreached = this.#unreached(message);
    const other = unreached ?? this.nameOf(message.sender);
    const conversationId = message.conversationId ?? this.#conversationOf(other, message.inReplyTo);
    if (conversationId === undefined) return undefined;
    const machine = this.find(conversationId, other) ?? this.#expectedMachine(conversationId, nowMs);
    if (machine) {
      const judgement = machine.receive(message, nowMs, unreached === undefined ? undefined : "platform");
      this.#keep(keyOf(conversationId, other), machine);
      return { ...judgement, machine, conversationId, other };
    }
    const protocol = this.protocols.get(message.protocol ?? "");
    // A recruiter passes on a question of another agent, who gets the answers.
    const [asker = message.sender] = message.replyTo ?? [];
    return protocol && this.#begin(protocol, message, conversationId, this.nameOf(asker), nowMs);
  }

  #begin(protocol: Protocol, message: Message, conversationId: string, other: string, nowMs: number): JudgedMessage {
    const { performative: say } = message;
    if (nextState(protocol, "start", "initiator", say) === undefined) {
      const answer = say === "not-understood" ? undefined : "not-understood";
      return { verdict: "unknown", answer, reason: complaint(protocol, "start", say, "initiator"), machine: undefined, conversationId, other };
    }
    const machine = new Machine(protocol, "participant");
    const judgement = machine.receive(message, nowMs);
    this.#keep(keyOf(conversationId, other), machine);
    return { ...judgement, machine, conversationId, other };
  }

  /** Moves on all machines whose deadlines have passed. Returns true if there were any. */
  tick(nowMs: number): boolean {
    const passed = [...this.#open].filter(([, machine]) => machine.tick(nowMs));
    for (const [key, machine] of passed) this.#keep(key, machine);
    return passed.length > 0;
  }

  /** The next deadline of all conversations; undefined if there is none. */
  get nextDeadlineMs(): number | undefined {
    const deadlines = [...this.#open.values()].flatMap(({ deadlineMs }) => deadlineMs ?? []);
    return deadlines.length > 0 ? deadlines.reduce((one, other) => Math.min(one, other)) : undefined;
  }

  #keep(key: string, machine: Machine): void {
    if (!machine.isOver) {
      this.#open.set(key, machine);
      dropOldest(this.#open, CONVERSATIONS_OPEN_MAX);
    } else if (!this.#ended.has(key)) {
      this.#open.delete(key);
      this.#ended.set(key, machine);
      dropOldest(this.#ended, CONVERSATIONS_ENDED_MAX);
    }
  }

  /**
   * Returns the conversation of a message without an identifier: the one whose question it quotes, or the only open one
   * with its sender.
   */
  #conversationOf(other: string, inReplyTo: string | undefined): string | undefined {
    const found = [...this.#open, ...this.#ended].filter(([key, machine]) => key.endsWith(`\n${other}`) && (inReplyTo === undefined ? !machine.isOver : machine.asked(inReplyTo)));
    return found.length === 1 ? found[0]?.[0].slice(0, -other.length - 1) : undefined;
  }

  /** Returns the name of the agent that a message of the AMS reports as unreached. */
  #unreached({ performative, sender, content }: Message): string | undefined {
    if (performative !== "failure" || this.nameOf(sender) !== "ams") return undefined;
    const receiver = unreachedIn(content);
    return receiver && this.nameOf(receiver);
  }
}

const keyOf = (conversationId: string, other: string): string => `${conversationId}\n${other}`;

function dropOldest(machines: Map<string, Machine>, most: number): void {
  if (machines.size > most) for (const [oldest] of machines) return void machines.delete(oldest);
}

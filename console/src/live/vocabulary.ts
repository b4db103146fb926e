/** Vocabulary of the live socket: that of the control socket (docs/design/control.md), and watches. */

export type AgentKind = "native" | "agentspeak" | "wasm" | "session" | "service" | (string & {});
export type AgentState = "initiated" | "active" | "suspended" | "waiting" | "transit";
export type LifecycleStep = "start" | "suspend" | "resume" | "wait" | "wake";

export interface PeerInfo {
  readonly node: string | null;
  readonly address: string | null;
}

/** The asked node. */
export interface NodeInfo {
  readonly platform: string;
  readonly node: string;
  readonly society: string;
  readonly pid: number;
  readonly version: string;
  readonly started_ms: number;
  readonly up_us: number;
  readonly agents: number;
  readonly sent: number;
  readonly handled: number;
  readonly dead: number;
  readonly queued: number;
  readonly came: number;
  readonly left: number;
  readonly memory_bytes: number | null;
  /** Memory limit of the process, if the system reports one. */
  readonly memory_limit_bytes?: number | null;
  /** Faults of the node, as texts. */
  readonly wrong?: readonly string[];
  /** Lines that agents printed, and warnings and failures of agents, since the start. */
  readonly printed?: number;
  readonly faults?: number;
  /** End of the society on this node. */
  readonly ended?: EndInfo;
  readonly security: string | null;
  readonly address: string | null;
  readonly peers: readonly PeerInfo[];
}

/** End of a society, with its remains at that moment. */
export interface EndInfo {
  readonly at_us: number;
  readonly code: number;
  readonly agents: number;
  readonly queued: number;
}

/** A node of the cluster, as the asked node sees it. */
export interface MemberInfo {
  readonly node: string;
  readonly state: "joining" | "running" | "draining" | "left" | "silent" | (string & {});
  readonly standby: boolean;
  readonly placer: boolean;
  readonly weight: number;
  readonly partitions: number;
  readonly agents: number;
  /** Thousandths of its capacity. */
  readonly load?: { readonly busy: number } | null;
  readonly address: string;
  readonly process: string;
  readonly labels?: readonly string[];
  readonly troubles?: readonly { readonly partition: number; readonly kind: string; readonly why: string }[];
}

export interface LinkInfo {
  readonly node: string;
  readonly peer: string | null;
  readonly address: string | null;
  readonly up: boolean;
  readonly left?: boolean;
  readonly connections: number;
  readonly waiting: number;
  readonly items_in: number;
  readonly items_out: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly round_trip_us?: number | null;
}

export interface AgentInfo {
  readonly name: string;
  readonly kind: AgentKind;
  readonly state: AgentState | null;
  readonly ending: boolean;
  readonly node: string;
  /** Device that the agent claims to run on. */
  readonly device?: string;
  readonly owner: string | null;
  readonly age_ms: number | null;
  readonly mailbox: number | null;
  readonly handled: number | null;
  readonly passive?: boolean;
  readonly activity?: AgentActivity;
  /** File of its program. */
  readonly program?: string;
}

/** `waits`: it has unfinished intentions, and continues only if a message comes. */
export type AgentActivity = "active" | "idle" | "waits" | "paused" | (string & {});

/** A line that an agent printed, or a warning or failure about it. */
export interface OutputEntry {
  readonly number: number;
  readonly at_us: number;
  readonly agent: string;
  readonly kind: "printed" | "notice" | "warning" | "failure" | (string & {});
  readonly text: string;
}
export interface OutputFound {
  readonly lines: readonly OutputEntry[];
  readonly next: number;
  readonly left_out: number;
  readonly printed: number;
  readonly faults: number;
}
export interface OutputWanted {
  readonly since?: number;
  readonly agents?: readonly string[];
  readonly faults?: boolean;
}

/** A tab, a phone, a volunteer's machine. */
export interface DeviceInfo {
  readonly name: string;
  readonly node: string;
  readonly units: number;
  /** Units that are usable now. */
  readonly units_now: number;
  readonly workers: number;
  readonly taken: number;
  readonly visible: boolean;
  readonly battery: { readonly percent: number; readonly charging: boolean } | null;
  readonly kinds: readonly string[];
  readonly agents: number;
  /** True if it gets no more work. */
  readonly shunned: boolean;
}

/** A program or module on a node. */
export interface CodeInfo {
  readonly code: string;
  readonly name: string | null;
  readonly form: "agentspeak" | "wasm" | (string & {});
  readonly own: boolean;
  readonly loaded: boolean;
  readonly bytes: number;
  readonly compiled_bytes: number | null;
  readonly agents: number;
  readonly hits: number;
}

export interface QuotaInfo {
  readonly name: string;
  readonly used: number | null;
  readonly max: number | null;
}
/** Usage of quotas by an agent or owner. */
export interface UsageInfo {
  readonly name: string;
  readonly owner?: string;
  readonly quotas: readonly QuotaInfo[];
}

export interface CertificateInfo {
  /** Holder: `node`, `authority`, `certifier`, `agent` or `session`. */
  readonly of: string;
  readonly subject: string;
  readonly issuer: string;
  readonly serial: string;
  readonly from_ms: number;
  readonly until_ms: number;
  readonly revoked: boolean;
}

/** A node's certificates, trust and refusals. */
export interface SecurityInfo {
  readonly level: string | null;
  readonly certificates: readonly CertificateInfo[];
  readonly revoked: readonly { readonly serial: string; readonly at_ms: number }[];
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  readonly audit: string | null;
}

export interface AgentsWanted {
  readonly name?: string;
  readonly state?: AgentState | null;
  readonly services?: boolean;
  readonly sort?: "name" | "mailbox" | "handled" | "age";
  readonly limit: number;
  readonly elsewhere_but?: readonly string[] | null;
}

export interface ServiceInfo {
  readonly name: string;
  readonly kind: string;
  readonly owner: string | null;
  readonly protocols: readonly string[];
  readonly ontologies: readonly string[];
  readonly languages: readonly string[];
  readonly properties: readonly (readonly [string, string])[];
}

export interface EntryInfo {
  readonly agent: string;
  readonly node: string;
  readonly services: readonly ServiceInfo[];
  readonly protocols: readonly string[];
  readonly ontologies: readonly string[];
  readonly languages: readonly string[];
  readonly lease_left_ms: number | null;
}

/** A DF entry that an operator writes. */
export interface EntryWanted extends Omit<EntryInfo, "node" | "lease_left_ms"> {
  readonly lease_ms: number | null;
}

/** A subscription to the DF. */
export interface SubscriptionInfo {
  readonly subscriber: string;
  /** Conversation, if it subscribed by FIPA's protocol. */
  readonly conversation: string | null;
  readonly agent: string | null;
  readonly services: readonly ServiceInfo[];
  readonly protocols: readonly string[];
  readonly ontologies: readonly string[];
  readonly languages: readonly string[];
}

/** Sums over several nodes. */
export interface Sum {
  readonly agents: number;
  readonly sent: number;
  readonly handled: number;
  readonly dead: number;
  readonly queued: number;
  readonly printed?: number;
  readonly faults?: number;
  readonly memory_bytes: number;
}

/** Messages from one agent to another since the query began. */
export interface PairInfo {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

export interface TopicInfo {
  readonly name: string;
  readonly node: string;
  readonly members: number;
  readonly other_nodes: number;
}

/** The visible part of a message. */
export interface MessageInfo {
  readonly from: string;
  readonly to: string;
  readonly via?: string;
  readonly performative: string;
  readonly conversation: string | null;
  readonly protocol: string | null;
  readonly reply_with: string | null;
  readonly in_reply_to: string | null;
  readonly content: string;
  readonly more?: MoreInfo;
}

/** Rarely used parameters of a message. */
export interface MoreInfo {
  readonly others?: readonly string[];
  readonly others_left_out?: number;
  readonly reply_to?: readonly string[];
  readonly reply_by_ms?: number;
  readonly language?: string;
  readonly encoding?: string;
  readonly ontology?: string;
  readonly user?: readonly (readonly [string, string])[];
  readonly user_left_out?: number;
}

interface At {
  /** Microseconds since 1970-01-01 UTC. */
  readonly at_us: number;
  readonly node: string;
}
export type SentEvent = At & MessageInfo & { readonly event: "sent" };
export type DiedEvent = At & MessageInfo & { readonly event: "died"; readonly why: string };
export type AgentEvent = At & { readonly event: "agent" | "service"; readonly agent: string; readonly text: string };
export type GapEvent = At & { readonly event: "skipped" | "dropped"; readonly count: number };
export type MarkEvent = At & { readonly event: "cut_short" | "tick" | "missed" };
export type Event = SentEvent | DiedEvent | AgentEvent | RefusedEvent | AllowedEvent | GapEvent | MarkEvent;
export type MessageEvent = SentEvent | DiedEvent;
/** An entry of the log of conversations. */
export type LogLine = Event & { readonly number: number };

/** A refusal; `count` of them, if given. */
export type RefusedEvent = At & { readonly event: "refused"; readonly reason: string; readonly who: string; readonly action: string | null; readonly object: string; readonly text: string; readonly sentence?: string; readonly count?: number };
/** An action that was permitted and carried out. The text is the reason of its failure, if it failed. */
export type AllowedEvent = At & { readonly event: "allowed"; readonly who: string; readonly from?: string; readonly action: string; readonly object: string; readonly text: string; readonly sentence?: string; readonly count?: number };

export interface SniffWanted {
  readonly agents?: readonly string[];
  readonly conversation?: string | null;
  readonly performatives?: readonly string[];
  readonly only_messages?: boolean;
}

export interface LogWanted {
  readonly since: number;
  readonly follow: boolean;
  readonly conversation?: string | null;
  readonly performatives?: readonly string[];
  readonly from?: readonly string[];
  readonly to?: readonly string[];
  readonly since_us?: number;
}

export interface BeliefInfo {
  readonly text: string;
  readonly namespace: string;
  readonly sources: readonly string[];
  readonly annotations: readonly string[];
  readonly rule: boolean;
}
export interface GoalInfo {
  readonly text: string;
  readonly state: string;
  readonly intention: number | null;
  readonly reason?: string | null;
}
export interface FrameInfo {
  readonly trigger: string;
  readonly plan: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly step: string | null;
  readonly step_line: number | null;
  readonly unifier: readonly (readonly [string, string])[];
}
export interface IntentionInfo {
  readonly id: number;
  readonly state: string;
  readonly waits_for: string | null;
  /** The innermost first. */
  readonly frames: readonly FrameInfo[];
}
export interface PlanInfo {
  readonly label: string;
  readonly trigger: string;
  /** Agent that told the plan, if it is not from the program. */
  readonly source?: string;
  readonly context: string | null;
  readonly body: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly breakpoint: boolean;
}

/** State of an agent's mind. Agents in other languages have the first members only. */
export interface MindInfo {
  readonly agent: string;
  readonly kind: AgentKind;
  readonly state?: AgentState | null;
  readonly cycle?: number;
  readonly paused?: boolean;
  /** Reason for the pause. */
  readonly paused_by?: string;
  readonly node?: string;
  readonly source_file?: string | null;
  readonly beliefs?: readonly BeliefInfo[];
  readonly goals?: readonly GoalInfo[];
  readonly intentions?: readonly IntentionInfo[];
  readonly plans?: readonly PlanInfo[];
  readonly mailbox?: readonly { readonly from: string; readonly performative: string; readonly content: string }[];
  readonly mailbox_total?: number;
  /** Lines with breakpoints. */
  readonly line_breakpoints?: readonly { readonly file: string; readonly line: number }[];
  readonly events?: readonly { readonly text: string; readonly intention: number | null }[];
  readonly recent?: readonly { readonly cycle: number; readonly text: string }[];
  readonly cut?: Readonly<Record<string, number>>;
  /** Device whose page reported the mind. Such a mind is read-only. */
  readonly page?: string;
  /** Further facts of this kind of agent. */
  readonly details?: readonly { readonly name: string; readonly value: string }[];
}

export interface Refusal {
  readonly reason: string;
  readonly text: string;
  readonly node?: string;
}

/** Agents to create. For several, `name` is the prefix. */
export interface Spawning {
  readonly name: string;
  readonly program: string;
  readonly count?: number | null;
  readonly beliefs?: string | null;
  readonly goals?: string | null;
}

export type Request =
  | { readonly request: "node" | "topics" | "links" | "nodes" | "totals" }
  | { readonly request: "traffic"; readonly limit: number; readonly elsewhere: boolean }
  | ({ readonly request: "agents" } & AgentsWanted)
  | { readonly request: "devices" | "quotas" | "refusals" | "subscriptions"; readonly limit: number }
  | { readonly request: "codes" | "security" }
  | { readonly request: "conversations"; readonly wanted: LogWanted; readonly limit: number }
  | { readonly request: "audit"; readonly before: string | null; readonly limit: number }
  /** A request to another node. */
  | { readonly request: "at"; readonly node: string; readonly ask: Request }
  | { readonly request: "services"; readonly service?: string; readonly agent?: string; readonly elsewhere_but?: readonly string[] | null }
  | { readonly request: "dead_letters"; readonly agents?: readonly string[]; readonly limit: number }
  | { readonly request: "output"; readonly wanted: OutputWanted; readonly limit: number }
  | { readonly request: "events"; readonly since: number; readonly wanted: SniffWanted }
  | { readonly request: "programs" }
  | { readonly request: "program_text"; readonly agent: string; readonly file?: string }
  | { readonly request: "drain"; readonly node: string; readonly drains: boolean }
  | ({ readonly request: "register" | "modify" } & EntryWanted)
  | { readonly request: "deregister"; readonly agent: string }
  | { readonly request: "send"; readonly message: unknown; readonly wait_ms?: number | null }
  | { readonly request: "step"; readonly agent: string; readonly step: LifecycleStep }
  | { readonly request: "kill"; readonly agent: string }
  | { readonly request: "move"; readonly agent: string; readonly to: string }
  | { readonly request: "clone"; readonly agent: string; readonly name: string }
  | ({ readonly request: "spawn" } & Spawning)
  | { readonly request: "mind"; readonly agent: string }
  | { readonly request: "debug"; readonly agent: string; readonly order: "pause" | "continue" | "step" | "end" }
  | { readonly request: "breakpoint"; readonly agent: string; readonly plan: string; readonly on: boolean }
  | { readonly request: "line_breakpoint"; readonly agent: string; readonly file: string; readonly line: number; readonly on: boolean }
  | { readonly request: "believe"; readonly agent: string; readonly belief: string; readonly add: boolean }
  | { readonly request: "pursue"; readonly agent: string; readonly goal: string }
  | { readonly request: "query"; readonly agent: string; readonly formula: string; readonly limit: number }
  /** The node answers when the intention ends, or after `wait_ms`. */
  | { readonly request: "perform"; readonly agent: string; readonly body: string; readonly wait_ms: number }
  | { readonly request: "load"; readonly agent: string; readonly program: string; readonly goals: boolean };

/** Value of a variable, as a term of AgentSpeak. */
export interface VariableValue {
  readonly name: string;
  readonly value: string;
}

/** Numbers of plans, rules and beliefs that a loaded program has changed. */
export interface ProgramChange {
  readonly removed: number;
  readonly added: number;
  readonly rules: number;
  readonly beliefs: number;
}

export type Answer =
  | ({ readonly answer: "node" } & NodeInfo)
  | { readonly answer: "agents"; readonly agents: readonly AgentInfo[]; readonly total: number }
  | { readonly answer: "devices"; readonly devices: readonly DeviceInfo[]; readonly total: number }
  | { readonly answer: "codes"; readonly codes: readonly CodeInfo[]; readonly kept_bytes: number | null; readonly kept_bytes_max: number | null }
  | { readonly answer: "quotas"; readonly agents: readonly UsageInfo[]; readonly total: number; readonly owners: readonly UsageInfo[] }
  | ({ readonly answer: "security" } & SecurityInfo)
  | { readonly answer: "refusals"; readonly refusals: readonly Event[]; readonly total: number }
  /** `next` is the position to continue from. */
  | { readonly answer: "conversations"; readonly lines: readonly LogLine[]; readonly next: number; readonly complete: boolean }
  /** Newest first; `next` is the position to continue from. */
  | { readonly answer: "audit"; readonly refusals: readonly Event[]; readonly next: string | null }
  | { readonly answer: "services"; readonly entries: readonly EntryInfo[] }
  | { readonly answer: "subscriptions"; readonly subscriptions: readonly SubscriptionInfo[]; readonly total: number }
  | { readonly answer: "topics"; readonly topics: readonly TopicInfo[] }
  | { readonly answer: "dead_letters"; readonly letters: readonly Event[]; readonly total: number }
  | ({ readonly answer: "output" } & OutputFound)
  | { readonly answer: "events"; readonly events: readonly Event[]; readonly next: number }
  | { readonly answer: "programs"; readonly programs: readonly string[] }
  | { readonly answer: "program_text"; readonly file: string; readonly text: string }
  | { readonly answer: "links"; readonly links: readonly LinkInfo[] }
  | { readonly answer: "totals"; readonly sum: Sum; readonly nodes: readonly NodeInfo[]; readonly silent: readonly string[] }
  | { readonly answer: "traffic"; readonly pairs: readonly PairInfo[]; readonly unseen: number; readonly silent: readonly string[] }
  | { readonly answer: "nodes"; readonly nodes: readonly MemberInfo[] }
  | { readonly answer: "sent"; readonly from: string }
  | { readonly answer: "reply"; readonly message: unknown }
  | ({ readonly answer: "mind" } & MindInfo)
  | { readonly answer: "spawned"; readonly agents: readonly string[] }
  /** One list of values for each answer; a formula without variables that holds has one empty list. */
  | { readonly answer: "answers"; readonly answers: readonly (readonly VariableValue[])[]; readonly more?: boolean }
  | { readonly answer: "performed"; readonly values: readonly VariableValue[]; readonly failure?: { readonly error: string; readonly text: string; readonly file?: string; readonly line?: number } }
  | ({ readonly answer: "loaded" } & ProgramChange)
  /** The agent moved with its partition, which has `agents` agents. */
  | { readonly answer: "moved"; readonly partition: number; readonly agents: number }
  /** Result of an order for all agents that match a pattern. */
  | { readonly answer: "acted"; readonly done: number; readonly agents: readonly string[]; readonly failed: number; readonly errors?: readonly string[] }
  | { readonly answer: "done" }
  | ({ readonly answer: "error" } & Refusal);

/** A continuous query. */
export type Watch =
  | { readonly what: "society" | "traffic" | "health"; readonly every_ms: number }
  | { readonly what: "agents"; readonly wanted: AgentsWanted; readonly every_ms: number }
  | { readonly what: "events"; readonly wanted: SniffWanted }
  | { readonly what: "log"; readonly wanted: LogWanted }
  | { readonly what: "output"; readonly wanted: OutputWanted; readonly every_ms: number }
  | { readonly what: "mind"; readonly agent: string; readonly every_ms: number }
  | { readonly what: "answer"; readonly request: Request; readonly every_ms: number }
  | { readonly what: "mobility" | "security" };

export interface SocietyFrame {
  readonly type: "society";
  readonly at_us: number;
  readonly node: NodeInfo;
  readonly nodes: readonly MemberInfo[];
  readonly links: readonly LinkInfo[];
  /** Faults of the node, its links and its cluster, as texts. */
  readonly wrong?: readonly string[];
}
export interface TrafficFrame {
  readonly type: "traffic";
  readonly at_us: number;
  readonly pairs: readonly (readonly [string, string, number])[];
  /** Messages that the sample did not include. */
  readonly unseen?: number;
}
export interface HealthFrame {
  readonly type: "health";
  readonly at_us: number;
  readonly sent_per_s: number;
  readonly handled_per_s: number;
  readonly dead_per_s: number;
  readonly queued: number;
  readonly latency_us: { readonly p50: number; readonly p90: number; readonly p99: number } | null;
  readonly memory_bytes: number | null;
  readonly mailboxes: readonly (readonly [string, number])[];
  readonly wrong: readonly string[];
}
export type WatchFrame =
  | SocietyFrame
  | TrafficFrame
  | HealthFrame
  | { readonly type: "agents"; readonly total: number; readonly agents: readonly AgentInfo[]; readonly silent?: readonly string[] }
  | { readonly type: "agents_changed"; readonly total: number; readonly silent?: readonly string[]; readonly changed: readonly AgentInfo[]; readonly gone: readonly string[] }
  | { readonly type: "events"; readonly events: readonly Event[] }
  | { readonly type: "log"; readonly lines: readonly LogLine[] }
  | ({ readonly type: "output" } & OutputFound)
  /** A watched answer has changed. */
  | { readonly type: "answer"; readonly answer: Answer }
  | { readonly type: "mind"; readonly mind: MindInfo };

export interface Welcome {
  readonly type: "welcome";
  readonly role: "admin" | "viewer" | (string & {});
  readonly node: NodeInfo;
  readonly features: readonly string[];
}

export type ServerFrame =
  | Welcome
  /** The node stops. */
  | { readonly type: "ended"; readonly text: string }
  | ({ readonly type: "error" } & Refusal)
  | ({ readonly type: "refused"; readonly id: number } & Refusal)
  | { readonly type: "answer"; readonly id: number; readonly answer: Answer }
  | (WatchFrame & { readonly id: number });

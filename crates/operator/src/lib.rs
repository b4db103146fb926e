//! Requests and answers of a node: the same on its control socket, over HTTP and in the console
//! (docs/design/control.md, docs/design/gateway.md). A node answers them behind the port [`Operator`]. Pure: no socket,
//! file or clock.
#![forbid(unsafe_code)]

mod agents;
mod answers;
mod calls;
mod devices;
mod events;
mod message;
mod minds;
mod nodes;
mod output;
mod port;
mod programs;
mod requests;
mod security;
mod services;
mod society;
#[cfg(test)]
mod tests;
mod upkeep;

pub use self::agents::{AgentInfo, AgentOrder, AgentsFound, AgentsWanted};
pub use self::answers::{
    Answer, BulkOutcome, LoadOutcome, PerformFailure, PerformOutcome, QueryAnswers, Reason, Refusal, VariableValue,
};
pub use self::calls::{OperatorCall, VERSION, read_call};
pub use self::devices::{BatteryInfo, DeviceInfo, DevicesFound};
pub use self::events::{
    ConversationsFound, DeadLettersFound, EventsFound, Happening, LogLine, LogWanted, MessageInfo, MoreInfo, NodeEvent,
    SniffWanted,
};
pub use self::minds::{DebuggerWanted, MindInfo, PlanSteps, SourceLines, StepLinesFound};
pub use self::nodes::{
    EndInfo, LinkInfo, MemberInfo, MemberState, NodeInfo, PeerInfo, SessionPortsInfo, StillInfo, WishInfo,
};
pub use self::output::{OutputEntry, OutputFound, OutputWanted};
pub use self::port::{Counted, Feed, Latency, NodeWatch, Operator, Pair, Traffic, WaitPercentiles};
pub use self::programs::{ProgramText, ProgramsFound};
pub use self::requests::{IncludedSource, Loading, ProgramSource, Request, Sending, Spawning};
pub use self::security::{AuditFound, CertificateInfo, RefusalCount, RefusalsFound, RevokedInfo, SecurityInfo};
pub use self::services::{
    EntryInfo, EntryWanted, ServiceInfo, ServicesFound, ServicesWanted, SubscriptionInfo, SubscriptionsFound, TopicInfo,
};
pub use self::society::{PairInfo, Sum, TotalsFound, TrafficFound};
pub use self::upkeep::{CodeForm, CodeInfo, CodesFound, QuotaInfo, QuotasFound, UsageInfo};

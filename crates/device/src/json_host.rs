//! Society for hosts that speak JSON. A call takes an order as an object and returns an answer as an object, with the
//! events since the last answer. Bytes go beside both (docs/design/device.md).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use whimbrel_acl::codec::json;
use whimbrel_acl::{Symbol, Value};
use whimbrel_bdi::syntax::{Diagnostic, Severity, render};
use whimbrel_platform::inspection::{DebugOrder, Inspection, Instruction, Look};
use whimbrel_platform::local::LocalHost;
use whimbrel_platform::{Counters, Time};

use crate::events::SocietyEvent;
use crate::{DeviceHost, DeviceSociety, NextRun, ProjectOpenError};

/// Order of a host: `{"spawn":{"name":"bob","path":"bob.asl"}}`, `"agents"`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum HostOrder {
    /// Adds files, or replaces them.
    Files(Vec<SourceFile>),
    /// Removes a file.
    Remove { path: String },
    /// Lists the diagnostics of a project or program.
    Check { path: String },
    /// Creates the agents of a project or program.
    Open { path: String },
    /// Creates an agent.
    Spawn {
        name: String,
        path: String,
        #[serde(default)]
        options: Vec<(String, String)>,
    },
    /// Creates an agent from a snapshot; the bytes are the snapshot.
    Restore {
        name: String,
        path: String,
        /// Place from which the agent moved here, if it did.
        from: Option<String>,
    },
    /// Writes an agent's state; the bytes of the answer are the snapshot.
    Snapshot { agent: String },
    /// As `Snapshot`, for the continuation at another place. The agent has no turns until it departs or stays.
    Leave { agent: String },
    /// Cancels the move of a leaving agent, for a reason as a code and as text.
    Stay { agent: String, why: String, text: String },
    /// As `Snapshot`, and removes the agent.
    Depart { agent: String },
    /// Starts or ends the keeping of an agent by the platform.
    Keep { agent: String, kept: bool },
    /// Packs a program for another place; it is in the bytes of the answer.
    Code { path: String },
    /// Takes in a program from the bytes; the name of its code becomes its path.
    Admit { code: String },
    /// Ends an agent.
    Kill { agent: String },
    /// Inspects an agent. With `follow`, the agent records its cycles for a while.
    Mind {
        agent: String,
        #[serde(default)]
        follow: bool,
    },
    /// Gives an agent an instruction of its inspector.
    Instruct { agent: String, wanted: AgentInstruction },
    /// Suspends an agent, or resumes it.
    Suspend { agent: String, suspended: bool },
    /// Delivers messages from outside; the answer lists the absent receivers of each.
    Deliver { messages: Vec<Box<RawValue>> },
    /// Starts or ends reports of the messages between agents.
    Listen { on: bool },
    /// Attaches the society to this platform, or detaches it.
    Attach {
        platform: Option<String>,
        /// Name of this place for its agents.
        #[serde(default)]
        place: String,
    },
    /// Lists the agents.
    Agents,
    /// Gives at most this number of turns.
    Run { turns: u32 },
}

/// Instruction to an agent: `"pause"`, `{"believe":{"belief":"likes(tea)","add":true}}`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AgentInstruction {
    /// Stops the agent before its next cycle; messages wait.
    Pause,
    /// Continues until a plan with a breakpoint is chosen.
    Continue,
    /// Runs one cycle.
    Step,
    /// Continues without any breakpoints.
    End,
    /// Sets or clears a breakpoint at a plan.
    Breakpoint { plan: String, on: bool },
    /// Adds or removes a belief.
    Believe { belief: String, add: bool },
    /// Adds a goal.
    Pursue { goal: String },
}

impl From<AgentInstruction> for Instruction {
    fn from(wanted: AgentInstruction) -> Self {
        match wanted {
            AgentInstruction::Pause => Self::Debug(DebugOrder::Pause),
            AgentInstruction::Continue => Self::Debug(DebugOrder::Continue),
            AgentInstruction::Step => Self::Debug(DebugOrder::Step),
            AgentInstruction::End => Self::Debug(DebugOrder::End),
            AgentInstruction::Breakpoint { plan, on } => Self::Breakpoint { plan, on },
            AgentInstruction::Believe { belief, add } => Self::Believe { belief, add },
            AgentInstruction::Pursue { goal } => Self::Pursue { goal },
        }
    }
}

#[derive(Deserialize)]
struct SourceFile {
    path: String,
    text: String,
}

/// Answer to an order.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum OrderAnswer {
    Done,
    /// The order was not carried out, for this reason.
    Refused {
        reason: String,
    },
    /// Diagnostics of programs; `missing` lists files that were looked for.
    Checked {
        diagnostics: Vec<ShownDiagnostic>,
        missing: Vec<String>,
        agents: Vec<String>,
    },
    Agents {
        agents: Vec<(String, String)>,
        counters: Counters,
    },
    /// Receivers that are absent, for each message.
    Delivered {
        missing: Vec<Vec<String>>,
    },
    /// Inspected state of an agent.
    Mind {
        mind: Box<Inspection>,
    },
    /// Name of a program's code.
    Code {
        name: String,
    },
    /// Messages that waited for an agent that is gone.
    Departed {
        messages: Vec<Box<RawValue>>,
    },
}

/// Reply to the host. `wait_ms` is the delay until the society has to run again; `null` means when something happens.
#[derive(Serialize)]
struct Reply {
    answer: OrderAnswer,
    happened: Vec<SocietyEvent>,
    lost: u64,
    wait_ms: Option<f64>,
    over: bool,
}

/// A diagnostic as a page shows it. Columns count from 1, in UTF-16 units as editors do.
#[derive(Debug, Serialize)]
struct ShownDiagnostic {
    severity: &'static str,
    message: String,
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    label: String,
    help: Option<String>,
    /// Diagnostic as a terminal shows it.
    rendered: String,
}

/// Most events in one answer; the rest comes with the next.
const HAPPENED_MAX: usize = 10_000;

/// JSON front end of a [`DeviceSociety`]; see the module.
pub struct JsonHost {
    society: DeviceSociety,
}

impl JsonHost {
    /// Creates a society without agents.
    pub fn new(platform: &str, host: Box<dyn DeviceHost>) -> Self {
        Self { society: DeviceSociety::new(platform, host) }
    }

    /// Returns the society.
    pub fn society(&mut self) -> &mut DeviceSociety {
        &mut self.society
    }

    /// Carries out an order, with the bytes that came with it. Returns the answer and its bytes. An invalid order is
    /// refused.
    pub fn order(&mut self, order: &str, bytes: &[u8]) -> (String, Vec<u8>) {
        let mut out = Vec::new();
        let answer = match serde_json::from_str(order) {
            Ok(order) => self.carry_out(order, bytes, &mut out),
            Err(error) => refused(format!("invalid order: {error}")),
        };
        (self.reply(answer), out)
    }

    fn carry_out(&mut self, order: HostOrder, bytes: &[u8], out: &mut Vec<u8>) -> OrderAnswer {
        let society = &mut self.society;
        match order {
            HostOrder::Files(files) => {
                let mut put = files.iter().map(|SourceFile { path, text }| society.put_file(path, text));
                done(put.find(Result::is_err).unwrap_or(Ok(())))
            }
            HostOrder::Remove { path } => {
                done(society.host().files().remove(&path).then_some(()).ok_or(format!("there is no file {path}")))
            }
            HostOrder::Check { path } => {
                let diagnostics = society.check(&path);
                self.checked(diagnostics, Vec::new())
            }
            HostOrder::Open { path } => match society.open(&path) {
                Ok((agents, warnings)) => {
                    self.checked(warnings, agents.iter().map(|agent| agent.name.to_string()).collect())
                }
                Err(ProjectOpenError(diagnostics)) => self.checked(diagnostics, Vec::new()),
            },
            HostOrder::Spawn { name, path, options } => {
                let options: Vec<_> =
                    options.iter().map(|(key, text)| (Symbol::new(key), Value::from(text.as_str()))).collect();
                done(society.spawn(&name, &path, &options).map(drop))
            }
            HostOrder::Restore { name, path, from } => {
                done(society.restore(&name, &path, bytes, from.as_deref()).map(drop))
            }
            HostOrder::Snapshot { agent } => done(society.snapshot(&agent).map(|state| *out = state)),
            HostOrder::Leave { agent } => done(society.leave(&agent).map(|state| *out = state)),
            HostOrder::Stay { agent, why, text } => {
                done(society.stay(&agent, &why, &text).then_some(()).ok_or("there is no such agent"))
            }
            HostOrder::Depart { agent } => depart(society, &agent, out),
            HostOrder::Keep { agent, kept } => {
                done(society.set_kept(&agent, kept).then_some(()).ok_or("there is no such agent"))
            }
            HostOrder::Code { path } => code(society, &path, out),
            HostOrder::Admit { code } => done(society.host().files().admit(&code, bytes)),
            HostOrder::Kill { agent } => done(society.kill(&agent).then_some(()).ok_or("there is no such agent")),
            HostOrder::Mind { agent, follow } => match society.inspect(&agent, Look { follow }) {
                Some(mind) => OrderAnswer::Mind { mind: Box::new(mind) },
                None => refused(format!("there is no agent {agent}")),
            },
            HostOrder::Instruct { agent, wanted } => done(society.instruct(&agent, &wanted.into())),
            HostOrder::Suspend { agent, suspended } => done(society.set_suspended(&agent, suspended)),
            HostOrder::Deliver { messages } => deliver(society, &messages),
            HostOrder::Listen { on } => {
                society.listen(on);
                OrderAnswer::Done
            }
            HostOrder::Attach { platform, place } => {
                society.attach(platform.as_deref(), &place);
                OrderAnswer::Done
            }
            HostOrder::Agents => agents(society),
            HostOrder::Run { turns } => {
                society.run(turns);
                OrderAnswer::Done
            }
        }
    }

    fn reply(&mut self, answer: OrderAnswer) -> String {
        let society = &mut self.society;
        society.host_mut().tell_worked();
        let happened: Vec<SocietyEvent> = std::iter::from_fn(|| society.poll_event()).take(HAPPENED_MAX).collect();
        let outlook = if happened.len() == HAPPENED_MAX { NextRun::Now } else { society.outlook() };
        let now = society.host().now();
        let wait_ms = match outlook {
            NextRun::Now => Some(0.0),
            NextRun::At(time) => Some(ms_between(now, time)),
            NextRun::Idle | NextRun::Over => None,
        };
        let lost = society.lost_events();
        let reply = Reply { answer, happened, lost, wait_ms, over: outlook == NextRun::Over };
        serde_json::to_string(&reply)
            .unwrap_or_else(|error| format!(r#"{{"answer":{{"refused":{{"reason":"{error}"}}}}}}"#))
    }

    fn checked(&mut self, diagnostics: Vec<Diagnostic>, agents: Vec<String>) -> OrderAnswer {
        let mut files = self.society.host().files();
        let told = diagnostics.iter().map(|diagnostic| {
            let text = files.read(&diagnostic.file).unwrap_or_default();
            told(diagnostic, text)
        });
        let diagnostics = told.collect();
        OrderAnswer::Checked { diagnostics, missing: files.take_missing(), agents }
    }
}

fn done<E: std::fmt::Display>(result: Result<(), E>) -> OrderAnswer {
    result.map_or_else(refused, |()| OrderAnswer::Done)
}

fn refused(reason: impl std::fmt::Display) -> OrderAnswer {
    OrderAnswer::Refused { reason: reason.to_string() }
}

fn ms_between(now: Time, then: Time) -> f64 {
    (then - now).as_micros() as f64 / 1000.0
}

fn agents(society: &DeviceSociety) -> OrderAnswer {
    let agents = society.agents().into_iter().map(|(name, state)| (name.to_string(), state.to_string()));
    OrderAnswer::Agents { agents: agents.collect(), counters: society.counters() }
}

fn depart(society: &mut DeviceSociety, agent: &str, out: &mut Vec<u8>) -> OrderAnswer {
    match society.depart(agent) {
        Ok((state, messages)) => {
            *out = state;
            OrderAnswer::Departed { messages }
        }
        Err(error) => refused(error),
    }
}

fn code(society: &DeviceSociety, path: &str, out: &mut Vec<u8>) -> OrderAnswer {
    match society.host().files().code(path) {
        Ok((name, bytes)) => {
            *out = bytes.to_vec();
            OrderAnswer::Code { name: name.to_string() }
        }
        Err(why) => refused(why),
    }
}

fn deliver(society: &mut DeviceSociety, messages: &[Box<RawValue>]) -> OrderAnswer {
    // All messages are decoded before the first is delivered.
    let read: Result<Vec<_>, _> = messages.iter().map(|message| json::decode(message.get().as_bytes())).collect();
    match read {
        Ok(messages) => {
            let names = |agents: Vec<whimbrel_acl::Aid>| agents.iter().map(ToString::to_string).collect();
            OrderAnswer::Delivered {
                missing: messages.into_iter().map(|message| names(society.deliver(message))).collect(),
            }
        }
        Err(error) => refused(error),
    }
}

fn told(diagnostic: &Diagnostic, text: &str) -> ShownDiagnostic {
    let (line, column) = place(text, diagnostic.span.start as usize);
    let (end_line, end_column) = place(text, diagnostic.span.end as usize);
    ShownDiagnostic {
        severity: match diagnostic.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        message: diagnostic.message.clone(),
        file: diagnostic.file.to_string(),
        line,
        column,
        end_line,
        end_column,
        label: diagnostic.label.clone(),
        help: diagnostic.help.clone(),
        rendered: render(diagnostic, text, false),
    }
}

/// Returns the line and column of a byte.
fn place(text: &str, byte: usize) -> (u32, u32) {
    let end = (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let before = text.get(..end).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).unwrap_or_default().encode_utf16().count();
    (before.matches('\n').count() as u32 + 1, column as u32 + 1)
}

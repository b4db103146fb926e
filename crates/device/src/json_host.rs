//! Society for hosts that speak JSON. A call takes an order as an object and returns an answer as an object, with the
//! events since the last answer. Bytes go beside both (docs/design/device.md).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use whimbrel_acl::codec::json;
use whimbrel_acl::{Symbol, Value};
use whimbrel_bdi::syntax::{Diagnostic, Severity, render};
use whimbrel_platform::inspection::{DebugOrder, Inspection, Instruction, Look};
use whimbrel_platform::{Counters, Services, Time};

use crate::events::Happening;
use crate::services::locked;
use crate::{Host, OpenError, Outlook, Society};

/// Order of a host: `{"spawn":{"name":"bob","path":"bob.asl"}}`, `"agents"`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// Adds files, or replaces them.
    Files(Vec<File>),
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
    Instruct { agent: String, wanted: Wanted },
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
enum Wanted {
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

impl From<Wanted> for Instruction {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Pause => Self::Debug(DebugOrder::Pause),
            Wanted::Continue => Self::Debug(DebugOrder::Continue),
            Wanted::Step => Self::Debug(DebugOrder::Step),
            Wanted::End => Self::Debug(DebugOrder::End),
            Wanted::Breakpoint { plan, on } => Self::Breakpoint { plan, on },
            Wanted::Believe { belief, add } => Self::Believe { belief, add },
            Wanted::Pursue { goal } => Self::Pursue { goal },
        }
    }
}

#[derive(Deserialize)]
struct File {
    path: String,
    text: String,
}

/// Answer to an order.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Done,
    /// The order was not carried out, for this reason.
    Refused {
        reason: String,
    },
    /// Diagnostics of programs; `missing` lists files that were looked for.
    Checked {
        diagnostics: Vec<Told>,
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
    answer: Answer,
    happened: Vec<Happening>,
    lost: u64,
    wait_ms: Option<f64>,
    over: bool,
}

/// A diagnostic as a page shows it. Columns count from 1, in UTF-16 units as editors do.
#[derive(Debug, Serialize)]
struct Told {
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

/// JSON front end of a [`Society`]; see the module.
pub struct Desk {
    society: Society,
}

impl Desk {
    /// Creates a society without agents.
    pub fn new(platform: &str, host: Box<dyn Host>) -> Self {
        Self { society: Society::new(platform, host) }
    }

    /// Returns the society.
    pub fn society(&mut self) -> &mut Society {
        &mut self.society
    }

    /// Carries out an order, with the bytes that came with it. Returns the answer and its bytes. An invalid order is
    /// refused.
    pub fn order(&mut self, order: &str, bytes: &[u8]) -> (String, Vec<u8>) {
        let mut out = Vec::new();
        let answer = match serde_json::from_str(order) {
            Ok(order) => self.carry_out(order, bytes, &mut out),
            Err(error) => refused(format!("that is no order: {error}")),
        };
        (self.reply(answer), out)
    }

    fn carry_out(&mut self, order: Order, bytes: &[u8], out: &mut Vec<u8>) -> Answer {
        let society = &mut self.society;
        match order {
            Order::Files(files) => {
                let mut put = files.iter().map(|File { path, text }| society.put_file(path, text));
                done(put.find(Result::is_err).unwrap_or(Ok(())))
            }
            Order::Remove { path } => done(
                locked(&society.world().files).remove(&path).then_some(()).ok_or(format!("there is no file {path}")),
            ),
            Order::Check { path } => {
                let diagnostics = society.check(&path);
                self.checked(diagnostics, Vec::new())
            }
            Order::Open { path } => match society.open(&path) {
                Ok((agents, warnings)) => {
                    self.checked(warnings, agents.iter().map(|agent| agent.name.to_string()).collect())
                }
                Err(OpenError(diagnostics)) => self.checked(diagnostics, Vec::new()),
            },
            Order::Spawn { name, path, options } => {
                let options: Vec<_> =
                    options.iter().map(|(key, text)| (Symbol::new(key), Value::from(text.as_str()))).collect();
                done(society.spawn(&name, &path, &options).map(drop))
            }
            Order::Restore { name, path, from } => {
                done(society.restore(&name, &path, bytes, from.as_deref()).map(drop))
            }
            Order::Snapshot { agent } => done(society.snapshot(&agent).map(|state| *out = state)),
            Order::Leave { agent } => done(society.leave(&agent).map(|state| *out = state)),
            Order::Stay { agent, why, text } => {
                done(society.stay(&agent, &why, &text).then_some(()).ok_or("there is no such agent"))
            }
            Order::Depart { agent } => depart(society, &agent, out),
            Order::Keep { agent, kept } => {
                done(society.set_kept(&agent, kept).then_some(()).ok_or("there is no such agent"))
            }
            Order::Code { path } => code(society, &path, out),
            Order::Admit { code } => done(locked(&society.world().files).admit(&code, bytes)),
            Order::Kill { agent } => done(society.kill(&agent).then_some(()).ok_or("there is no such agent")),
            Order::Mind { agent, follow } => match society.inspect(&agent, Look { follow }) {
                Some(mind) => Answer::Mind { mind: Box::new(mind) },
                None => refused(format!("there is no agent {agent}")),
            },
            Order::Instruct { agent, wanted } => done(society.instruct(&agent, &wanted.into())),
            Order::Suspend { agent, suspended } => done(society.set_suspended(&agent, suspended)),
            Order::Deliver { messages } => deliver(society, &messages),
            Order::Listen { on } => {
                society.listen(on);
                Answer::Done
            }
            Order::Attach { platform, place } => {
                society.attach(platform.as_deref(), &place);
                Answer::Done
            }
            Order::Agents => agents(society),
            Order::Run { turns } => {
                society.run(turns);
                Answer::Done
            }
        }
    }

    fn reply(&mut self, answer: Answer) -> String {
        let society = &mut self.society;
        society.tell_worked();
        let happened: Vec<Happening> = std::iter::from_fn(|| society.poll_happening()).take(HAPPENED_MAX).collect();
        let outlook = if happened.len() == HAPPENED_MAX { Outlook::Now } else { society.outlook() };
        let now = society.world().now();
        let wait_ms = match outlook {
            Outlook::Now => Some(0.0),
            Outlook::At(time) => Some(ms_between(now, time)),
            Outlook::Idle | Outlook::Over => None,
        };
        let lost = society.lost_happenings();
        let reply = Reply { answer, happened, lost, wait_ms, over: outlook == Outlook::Over };
        serde_json::to_string(&reply)
            .unwrap_or_else(|error| format!(r#"{{"answer":{{"refused":{{"reason":"{error}"}}}}}}"#))
    }

    fn checked(&mut self, diagnostics: Vec<Diagnostic>, agents: Vec<String>) -> Answer {
        let mut files = locked(&self.society.world().files);
        let told = diagnostics.iter().map(|diagnostic| {
            let text = files.read(&diagnostic.file).unwrap_or_default();
            told(diagnostic, text)
        });
        let diagnostics = told.collect();
        Answer::Checked { diagnostics, missing: files.take_missing(), agents }
    }
}

fn done<E: std::fmt::Display>(result: Result<(), E>) -> Answer {
    result.map_or_else(refused, |()| Answer::Done)
}

fn refused(reason: impl std::fmt::Display) -> Answer {
    Answer::Refused { reason: reason.to_string() }
}

fn ms_between(now: Time, then: Time) -> f64 {
    (then - now).as_micros() as f64 / 1000.0
}

fn agents(society: &Society) -> Answer {
    let agents = society.agents().into_iter().map(|(name, state)| (name.to_string(), state.to_string()));
    Answer::Agents { agents: agents.collect(), counters: society.counters() }
}

fn depart(society: &mut Society, agent: &str, out: &mut Vec<u8>) -> Answer {
    match society.depart(agent) {
        Ok((state, messages)) => {
            *out = state;
            Answer::Departed { messages }
        }
        Err(error) => refused(error),
    }
}

fn code(society: &Society, path: &str, out: &mut Vec<u8>) -> Answer {
    match locked(&society.world().files).code(path) {
        Ok((name, bytes)) => {
            *out = bytes.to_vec();
            Answer::Code { name: name.to_string() }
        }
        Err(why) => refused(why),
    }
}

fn deliver(society: &mut Society, messages: &[Box<RawValue>]) -> Answer {
    // All messages are decoded before the first is delivered.
    let read: Result<Vec<_>, _> = messages.iter().map(|message| json::decode(message.get().as_bytes())).collect();
    match read {
        Ok(messages) => {
            let names = |agents: Vec<whimbrel_acl::Aid>| agents.iter().map(ToString::to_string).collect();
            Answer::Delivered { missing: messages.into_iter().map(|message| names(society.deliver(message))).collect() }
        }
        Err(error) => refused(error),
    }
}

fn told(diagnostic: &Diagnostic, text: &str) -> Told {
    let (line, column) = place(text, diagnostic.span.start as usize);
    let (end_line, end_column) = place(text, diagnostic.span.end as usize);
    Told {
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

/// The line and column of a byte.
fn place(text: &str, byte: usize) -> (u32, u32) {
    let end = (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let before = text.get(..end).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).unwrap_or_default().encode_utf16().count();
    (before.matches('\n').count() as u32 + 1, column as u32 + 1)
}

//! `whimbrel dap`: the debug adapter, on standard input and output.

mod agent_threads;
mod debug_session;
mod debug_target;
mod evaluation;
mod mind_view;
mod output_backlog;
mod protocol;
mod source_breakpoints;

use std::io::{self, BufReader};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use self::debug_session::DebugSession;
use self::protocol::ClientMessage;
use crate::arguments::DapArguments;
use crate::framed_messages as framed;
use whimbrel_terminal::screen::print_bytes;

/// Interval of looks at the society.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Input of a session.
pub enum AdapterInput {
    /// Message of the client.
    Message(Value),
    /// End of the client's messages, with the reason if it is a fault.
    Closed(Option<anyhow::Error>),
    /// Notice that lines of the society wait.
    Printed,
    /// Outcome of an evaluation.
    Evaluated {
        /// Request that it answers.
        request: ClientMessage,
        /// Agent whose value it is, if the value may have parts.
        agent: Option<String>,
        /// Value, or the reason why there is none.
        outcome: anyhow::Result<String>,
    },
}

/// Serves one client until it leaves.
pub fn dap(_arguments: &DapArguments) -> anyhow::Result<ExitCode> {
    let (inputs, received) = channel();
    read_messages(inputs.clone())?;
    let mut session = DebugSession::new(inputs);
    let mut looked = Instant::now();
    loop {
        // All that is there, so that requests do not wait behind other inputs.
        let first = received.recv_timeout(LOOK_EVERY).ok();
        for input in first.into_iter().chain(received.try_iter()) {
            match input {
                AdapterInput::Closed(None) if session.has_ended() => return Ok(ExitCode::SUCCESS),
                AdapterInput::Closed(fault) => {
                    session.end();
                    // A client that goes without a word leaves nothing behind either.
                    return fault.map_or(Ok(ExitCode::FAILURE), Err);
                }
                input => session.take(input),
            }
        }
        if looked.elapsed() >= LOOK_EVERY {
            session.look();
            looked = Instant::now();
        }
        for message in session.messages() {
            if print_bytes(&framed::bytes(&message)).is_err() {
                session.end();
                return Ok(ExitCode::FAILURE);
            }
        }
        if session.is_over() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Reads messages on a thread of its own.
fn read_messages(inputs: Sender<AdapterInput>) -> anyhow::Result<()> {
    let reading = move || {
        let mut input = BufReader::new(io::stdin().lock());
        loop {
            let next = match framed::read(&mut input) {
                Ok(Some(message)) => AdapterInput::Message(message),
                Ok(None) => AdapterInput::Closed(None),
                Err(error) => AdapterInput::Closed(Some(error.into())),
            };
            let is_last = matches!(next, AdapterInput::Closed(_));
            if inputs.send(next).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(reading).context("cannot start a thread to read messages")?;
    Ok(())
}

//! Node side of control sockets: a socket, and a thread per connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use whimbrel_operator::{Answer, Reason, Refusal, Request, read_call};
use whimbrel_platform::audit::{Act, Auditor, Party};
use whimbrel_platform::limits::{CONTROL_CONNECTIONS_MAX, CONTROL_REQUEST_BYTES_MAX};

use super::local_socket::{LocalListener, LocalStream, admit, is_gone, user_of};
use super::operator_service::OperatorService;
use super::{history, socket_folder};

/// Longest time for a client to send its request, and to take in each piece of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval at which the connection of a debugger is checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest time for each part of an exchange with a client that is refused.
const REFUSAL_PATIENCE: Duration = Duration::from_millis(100);

/// Control socket of a node; closed when dropped.
pub struct Control {
    path: PathBuf,
}

impl Control {
    /// Opens the socket.
    ///
    /// # Errors
    /// There is no folder where it can be, or no thread to listen.
    pub fn open(service: Arc<OperatorService>) -> anyhow::Result<Self> {
        let (listener, path) = socket_folder::listen(service.random())?;
        let control = Self { path };
        let listening = move || listen(&Arc::new(listener), &service);
        let thread = std::thread::Builder::new().name("whimbrel-control".to_owned());
        thread.spawn(listening).context("cannot start the thread of the control socket")?;
        Ok(control)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn listen(listener: &Arc<LocalListener>, service: &Arc<OperatorService>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // The process has no more files, most likely: wait until some are closed.
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= CONTROL_CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::Relaxed);
            let text = format!("{CONTROL_CONNECTIONS_MAX} others are asking this node already");
            let busy = Answer::Error(Refusal { reason: Reason::Busy, text, node: None });
            let _ = refuse(listener, &stream, &busy);
            continue;
        }
        let (listener, service, counted) = (Arc::clone(listener), Arc::clone(service), Arc::clone(&open));
        let serving = move || {
            // A client that has gone needs no answer.
            let _ = serve(&listener, &stream, &service);
            counted.fetch_sub(1, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("whimbrel-control".to_owned()).spawn(serving).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(listener: &LocalListener, stream: &LocalStream, service: &OperatorService) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    admit(listener, stream)?;
    let mut line = Vec::new();
    BufReader::new(stream.take(CONTROL_REQUEST_BYTES_MAX as u64)).read_until(b'\n', &mut line)?;
    match read_call(&line) {
        Ok(Request::Sniff(wanted)) => service.sniff(&wanted, stream),
        Ok(Request::Log(wanted)) => match service.log(&wanted, stream) {
            Err(history::HistoryEnd::Refused(refusal)) => say(stream, &Answer::Error(refusal)),
            Err(history::HistoryEnd::Gone(error)) => Err(error),
            Ok(()) => Ok(()),
        },
        Ok(Request::Debugger(wanted)) => match service.debuggers.enter(service.platform(), wanted) {
            Ok(connected) => {
                record(service, stream, ("debug", "*".to_owned()), "");
                let said = say(stream, &Answer::Done);
                while said.is_ok() && !is_gone(stream) {
                    std::thread::sleep(LOOK_EVERY);
                }
                drop(connected);
                said
            }
            Err(refusal) => say(stream, &Answer::Error(refusal)),
        },
        Ok(Request::Stop { code }) => {
            record(service, stream, ("stop", "ams".to_owned()), "");
            // Before this process ends.
            let said = say(stream, &Answer::Done);
            service.stop(code);
            said
        }
        Ok(request) => {
            let act = request.act();
            let answer = service.answer(request, &|| is_gone(stream));
            if let Some(act) = act {
                record(service, stream, act, &answer.outcome());
            }
            say(stream, &answer)
        }
        Err(refusal) => say(stream, &Answer::Error(refusal)),
    }
}

/// Answers a caller for whom there is no thread. Other callers wait meanwhile, so that it gets little time.
fn refuse(listener: &LocalListener, stream: &LocalStream, answer: &Answer) -> io::Result<()> {
    stream.set_read_timeout(Some(REFUSAL_PATIENCE))?;
    stream.set_write_timeout(Some(REFUSAL_PATIENCE))?;
    admit(listener, stream)?;
    say(stream, answer)
}

/// Records an act of a user of this machine.
fn record(service: &OperatorService, stream: &LocalStream, (action, object): (&str, String), outcome: &str) {
    let (user, process) = user_of(stream);
    let said = [process.as_str(), outcome];
    let detail = said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ");
    let (who, from) = (Party::Operator(&user), "control socket");
    service.refusals.allowed(&Act { who, from, action, object: &object, detail: &detail });
}

fn say(mut stream: &LocalStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}

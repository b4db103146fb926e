//! Society that a command runs as another process, which ends with the command.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use whimbrel::control::{PlatformChoice, RunningNode, choose};
use whimbrel_operator::Request;

use crate::system::shield_from_interrupt;

/// Longest time for a society to begin.
const BEGIN_PATIENCE: Duration = Duration::from_secs(60);
/// Longest time for a society to end, before its process is killed.
const END_PATIENCE: Duration = Duration::from_secs(20);
/// Interval of looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOutput {
    /// Lines that agents print.
    Standard,
    /// Warnings and failures.
    Error,
}

/// Process of a society. It ends when its standard input does.
pub struct ChildSociety {
    child: Child,
    readers: Vec<JoinHandle<()>>,
}

/// Returns the command that runs a project or a program, without further options.
pub fn run_command(file: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
    command.arg("run").arg(file).arg("--end-with-input");
    Ok(command)
}

impl ChildSociety {
    /// Starts a command of [`run_command`]. Each line of its output is shown as it comes.
    pub fn start(
        mut command: Command,
        show: impl Fn(ChildOutput, &str) + Clone + Send + 'static,
    ) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the command that starts it.
        shield_from_interrupt(&mut command);
        let mut child = command.spawn().context("cannot start the society")?;
        let mut readers = Vec::new();
        readers.extend(child.stdout.take().map(|lines| pass_on(lines, ChildOutput::Standard, show.clone())));
        readers.extend(child.stderr.take().map(|lines| pass_on(lines, ChildOutput::Error, show)));
        Ok(Self { child, readers })
    }

    /// Waits until the process answers.
    pub fn nodes(&mut self) -> anyhow::Result<Vec<RunningNode>> {
        let target = || PlatformChoice { pid: Some(self.child.id()), ..PlatformChoice::default() };
        let (begun, target) = (Instant::now(), target());
        while begun.elapsed() < BEGIN_PATIENCE {
            if let Ok(nodes) = choose(target.clone()) {
                return Ok(nodes);
            }
            if let Some(status) = self.child.try_wait()? {
                self.show_rest();
                bail!("the society ended at once ({status})");
            }
            std::thread::sleep(LOOK_EVERY);
        }
        bail!("the society does not answer within {BEGIN_PATIENCE:?}")
    }

    /// Writes a line to the process.
    pub fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.child.stdin.as_mut().context("the society is ending")?;
        writeln!(input, "{line}").context("the society has ended")
    }

    /// Returns how the process ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends the society, and waits until all its output is shown.
    pub fn end(&mut self, nodes: &[RunningNode]) {
        if let Some(node) = nodes.first() {
            // It may have ended itself.
            let _ = node.ask(&Request::Stop { code: 0 }, Duration::ZERO);
        }
        drop(self.child.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < END_PATIENCE && self.ended().is_none() {
            std::thread::sleep(LOOK_EVERY);
        }
        self.kill();
        self.show_rest();
    }

    /// Waits until all output of an ended process is shown.
    pub fn show_rest(&mut self) {
        self.readers.drain(..).for_each(|reader| drop(reader.join()));
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ChildSociety {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Shows lines as they come.
fn pass_on(
    lines: impl Read + Send + 'static,
    output: ChildOutput,
    show: impl Fn(ChildOutput, &str) + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(lines).split(b'\n').map_while(Result::ok) {
            show(output, &String::from_utf8_lossy(&line));
        }
    })
}

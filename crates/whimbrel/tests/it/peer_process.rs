//! A program of another platform, in a process of its own, that takes commands and tells what happens.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// Process of a peer, ended with its handle. What it tells begins with `@`; words have tabs between them.
pub struct PeerProcess {
    process: Child,
    commands: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl PeerProcess {
    /// Starts a program; `None` if it cannot be started.
    pub fn start(command: &mut Command) -> Option<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (output, commands) = (process.stdout.take()?, process.stdin.take());
        let (told, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix('@') {
                    let _ = told.send(line.trim_start_matches([' ', '\t']).to_owned());
                }
            }
        });
        Some(Self { process, commands, lines })
    }

    /// Gives a command.
    pub fn command(&mut self, words: &[&str]) {
        writeln!(self.commands.as_mut().expect("it runs"), "{}", words.join("\t")).expect("it listens");
    }

    /// Returns the next line that it tells.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("it tells something in time")
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // Its servers end with it, if it is left the time.
        self.commands = None;
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::yield_now();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! Record of a local cluster of servers in its folder: who keeps them, and where they listen. Without the record, the
//! process that keeps the servers ends them.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::system::shield_from_interrupt;

/// File of the record.
const FILE: &str = "engine.json";
/// File of what a detached process says.
const LOG: &str = "engine.log";
/// Lines of the log that an error shows.
const LOG_LINES_SHOWN: usize = 5;
/// Longest wait for detached servers to come up.
const UP_PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for servers to end.
const DOWN_PATIENCE: Duration = Duration::from_secs(20);
/// Interval of checks for either.
const CHECK_EVERY: Duration = Duration::from_millis(20);
/// Longest wait for a server's port to answer.
const PORT_PATIENCE: Duration = Duration::from_millis(200);

/// Servers of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRecord {
    /// Process that keeps the servers.
    pub process: u32,
    /// Address of a store.
    pub url: String,
    /// Name and process of each server.
    pub servers: Vec<(String, u32)>,
}

impl EngineRecord {
    /// Reads the record of a folder.
    pub fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(dir.join(FILE)).ok()?).ok()
    }

    /// Writes the record into a folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, dir: &Path) -> anyhow::Result<()> {
        let file = dir.join(FILE);
        let text = serde_json::to_string(self)?;
        whimbrel_files::write(&file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Removes the record of a folder, which ends its servers.
    pub fn remove(dir: &Path) {
        let _ = std::fs::remove_file(dir.join(FILE));
    }

    /// Returns the address of the first server.
    fn address(&self) -> Option<SocketAddr> {
        self.url.strip_prefix("nats://")?.split([',', '/', '?']).next()?.parse().ok()
    }

    /// Returns true if a server answers.
    pub fn answers(&self) -> bool {
        self.address().is_some_and(|address| TcpStream::connect_timeout(&address, PORT_PATIENCE).is_ok())
    }

    /// Names the servers and their processes.
    pub fn named(&self) -> String {
        let servers = self.servers.iter().map(|(name, process)| format!("{name} (process {process})"));
        servers.collect::<Vec<_>>().join(", ")
    }
}

/// Starts a process that keeps servers in `dir`, with these arguments, and waits until they are up.
///
/// # Errors
/// The process ended, or the servers did not come up in time; the message has the end of the log.
pub fn start_detached(dir: &Path, arguments: &[String]) -> anyhow::Result<EngineRecord> {
    let is_new = !dir.exists();
    whimbrel_files::create_folder(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    let path = dir.join(LOG);
    let log = whimbrel_files::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    // Ctrl-C on this terminal is not meant for it.
    shield_from_interrupt(&mut command);
    let mut child = command.spawn().context("cannot start the process that keeps the servers")?;
    // The message has what the log says.
    wait_for_record(dir, &path, &mut child).inspect_err(|_| {
        let _ = std::fs::remove_file(&path);
        if is_new {
            // Only if nothing else is in it.
            let _ = std::fs::remove_dir(dir);
        }
    })
}

fn wait_for_record(dir: &Path, log: &Path, child: &mut Child) -> anyhow::Result<EngineRecord> {
    let until = Instant::now() + UP_PATIENCE;
    loop {
        if let Some(record) = EngineRecord::read(dir).filter(|record| record.process == child.id()) {
            return Ok(record);
        }
        let has_ended = !matches!(child.try_wait(), Ok(None));
        if has_ended || Instant::now() > until {
            let _ = child.kill();
            let said = std::fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = said.lines().collect();
            let last = lines.get(lines.len().saturating_sub(LOG_LINES_SHOWN)..).unwrap_or_default().join("\n");
            let last = last.strip_prefix("error: ").unwrap_or(&last).to_owned();
            bail!("the servers did not start: {last}");
        }
        std::thread::sleep(CHECK_EVERY);
    }
}

/// Ends the servers of a folder, and waits until they have ended. Returns what ran there.
///
/// # Errors
/// No servers run there, or they do not end.
pub fn end(dir: &Path) -> anyhow::Result<EngineRecord> {
    let Some(record) = EngineRecord::read(dir) else {
        bail!("no servers run in {}: `whimbrel engine up --detach` starts some", dir.display())
    };
    let ran = record.answers();
    EngineRecord::remove(dir);
    if !ran {
        bail!("the servers in {} had ended already", dir.display());
    }
    let until = Instant::now() + DOWN_PATIENCE;
    while record.answers() {
        if Instant::now() > until {
            bail!("{} still run, because process {} does not end them: kill them", record.named(), record.process);
        }
        std::thread::sleep(CHECK_EVERY);
    }
    Ok(record)
}

/// Returns the folder as commands would name it, unless it is the default.
pub fn option_for(dir: &Path, default: &str) -> String {
    if dir == Path::new(default) { String::new() } else { format!(" --dir {}", dir.display()) }
}

//! The node's processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::{ORACLE, TOKEN};
use crate::arguments::Devices;
use crate::bench::messaging::cpu_s;
use crate::bench::resident_bytes_of;

/// How long a node may take to begin, what it kept included.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it is away that was ended.
const AWAY: Duration = Duration::from_secs(1);

const SOCIETY: &str = "MAS devices { agents: oracle [durability=volatile]; }";
/// Answers in as many bytes as a state has in the study.
const PROGRAM: &str = "+!kqml_received(A, request, Question, M) <- ?fortune(F); .send(A, inform, F, M).\n";

/// Processes that are the node, all at one address.
pub struct Nodes {
    children: Vec<Child>,
    folder: PathBuf,
    pub address: String,
    what: Devices,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.end();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Nodes {
    pub fn start(what: &Devices) -> anyhow::Result<Self> {
        let folder = what.folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = folder.join(format!("whimbrel-devices-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        fs::write(folder.join("devices.mas2j"), SOCIETY)?;
        let fortune = "x".repeat(what.bytes as usize);
        fs::write(folder.join(format!("{ORACLE}.asl")), format!("fortune(\"{fortune}\").\n{PROGRAM}"))?;
        let mut nodes = Self { children: Vec::new(), folder, address: "127.0.0.1:0".to_owned(), what: what.clone() };
        for number in 1..=what.gateways {
            nodes.start_one(number)?;
        }
        Ok(nodes)
    }

    fn start_one(&mut self, number: u8) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(["run", "devices.mas2j", "--http", &self.address, "--http-token", TOKEN]);
        if self.what.gateways > 1 {
            command.arg("--http-reuse-port");
        }
        if !self.what.volatile {
            command.args(["--store", &format!("store{number}")]);
        }
        command.current_dir(&self.folder).env("WHIMBREL_RUN_DIR", self.folder.join(format!("run{number}")));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start a node")?;
        let stderr = child.stderr.take().context("its errors are a pipe")?;
        self.children.push(child);
        self.address = address_in(BufReader::new(stderr)).context("the node does not say where it is")?;
        Ok(())
    }

    /// Ends the node without a word, and starts it again.
    pub fn kill_and_start(&mut self) -> anyhow::Result<()> {
        self.end();
        std::thread::sleep(AWAY);
        let until = Instant::now() + PATIENCE;
        // Its address may not be free at once.
        while let Err(error) = self.start_one(1) {
            self.end();
            if Instant::now() > until {
                return Err(error);
            }
            std::thread::sleep(AWAY);
        }
        Ok(())
    }

    fn end(&mut self) {
        for mut child in self.children.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Memory of all of them.
    pub fn resident_bytes(&self) -> anyhow::Result<f64> {
        let of = |child: &Child| resident_bytes_of(&child.id().to_string()).context("the system does not tell");
        self.children.iter().map(of).sum()
    }

    /// Processor time of all of them.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        self.children.iter().map(|child| cpu_s(&child.id().to_string())).sum()
    }
}

/// Where a node says that it is. What it says later is read and forgotten, so that it is not held up.
fn address_in(mut lines: impl BufRead + Send + 'static) -> anyhow::Result<String> {
    let mut said = String::new();
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if let Some((_, address)) = line.split_once("the console is at http://") {
            let address = address.split('/').next().unwrap_or_default().to_owned();
            std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            return Ok(address);
        }
        said.push_str(&std::mem::take(&mut line));
    }
    bail!("it ended: {}", said.trim())
}

//! Society that a prompt begins: another process, which ends with the prompt.

use std::io::{BufRead, BufReader, Read};
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use whimbrel::control::{PlatformChoice, RunningNode, choose};
use whimbrel_operator::Request;

use super::line_editor::LinePrinter;

/// Name of a prompt's own agent.
pub const OWN_AGENT: &str = "repl";
/// Longest time for a society to begin.
const BEGIN_PATIENCE: Duration = Duration::from_secs(60);
/// Longest time for a society to end, before its process is killed.
const END_PATIENCE: Duration = Duration::from_secs(20);
/// Interval of looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Process of the society.
pub struct NewSociety {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    /// Folder of an empty society.
    folder: Option<PathBuf>,
}

impl NewSociety {
    /// Runs a project or a program; without one an empty society. Returns the process and its nodes, once they answer.
    pub fn begin(
        file: Option<&Path>,
        printer: &LinePrinter,
        has_console: bool,
    ) -> anyhow::Result<(Self, Vec<RunningNode>)> {
        let folder = file.is_none().then(empty_society).transpose()?;
        let of_its_own = folder.as_ref().map(|folder| folder.join(format!("{OWN_AGENT}.asl")));
        let file = file.map(Path::to_owned).or(of_its_own).unwrap_or_default();
        let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
        command.arg("run").arg(&file).arg("--end-with-input");
        if !has_console {
            command.args(["--http", "off"]);
        }
        if printer.is_colored() {
            command.args(["--color", "always"]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the prompt.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().context("cannot start the society")?;
        let mut readers = Vec::new();
        readers.extend(child.stdout.take().map(|lines| pass_on(lines, printer.clone(), LinePrinter::print)));
        readers.extend(child.stderr.take().map(|lines| pass_on(lines, printer.clone(), LinePrinter::note)));
        let mut society = Self { child, readers, folder };
        let nodes = society.nodes()?;
        Ok((society, nodes))
    }

    /// Waits until the process answers.
    fn nodes(&mut self) -> anyhow::Result<Vec<RunningNode>> {
        let target = || PlatformChoice { pid: Some(self.child.id()), ..PlatformChoice::default() };
        let (begun, target) = (Instant::now(), target());
        while begun.elapsed() < BEGIN_PATIENCE {
            if let Ok(nodes) = choose(target.clone()) {
                return Ok(nodes);
            }
            if let Some(status) = self.child.try_wait()? {
                self.readers.drain(..).for_each(|reader| drop(reader.join()));
                bail!("the society ended at once ({status})");
            }
            std::thread::sleep(LOOK_EVERY);
        }
        bail!("the society does not answer within {BEGIN_PATIENCE:?}")
    }

    /// Returns true for a society with no agent but the prompt's.
    pub fn is_empty(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns true if the process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the society, and waits until all its output is shown.
    pub fn end(mut self, nodes: &[RunningNode]) {
        if let Some(node) = nodes.first() {
            // It may have ended itself.
            let _ = node.ask(&Request::Stop { code: 0 }, Duration::ZERO);
        }
        drop(self.child.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < END_PATIENCE && !self.has_ended() {
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.readers.drain(..).for_each(|reader| drop(reader.join()));
        if let Some(folder) = self.folder.take() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Makes a folder with the only program of an empty society: that of the prompt's agent.
fn empty_society() -> anyhow::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("whimbrel-repl-{}", std::process::id()));
    whimbrel_files::create_new_folder(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    whimbrel_files::write(&folder.join(format!("{OWN_AGENT}.asl")), b"// The agent of a prompt.\n")?;
    Ok(folder)
}

/// Shows lines as they come.
fn pass_on(lines: impl Read + Send + 'static, printer: LinePrinter, show: fn(&LinePrinter, &str)) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(lines).split(b'\n').map_while(Result::ok) {
            show(&printer, &String::from_utf8_lossy(&line));
        }
    })
}

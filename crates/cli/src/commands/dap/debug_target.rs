//! Society that is debugged: one that the session began, or a running one.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use rustc_hash::FxHashSet;
use whimbrel::control::{PlatformChoice, RunningNode, choose};
use whimbrel::projects::project_in;
use whimbrel_operator::{
    AgentOrder, AgentsWanted, Answer, DebuggerWanted, MindInfo, OutputFound, OutputWanted, Request, SourceLines,
};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::{OUTPUT_ANSWER_LINES_MAX, PAUSED_NAMED_MAX};
use whimbrel_platform::plain_text::harmless;

use super::AdapterInput;
use super::output_backlog::OutputBacklog;
use super::protocol::{AttachArguments, LaunchArguments};
use crate::commands::child_society::{ChildOutput, ChildSociety, run_command};
use crate::commands::life::ask_anywhere;

/// Line that has a society begin.
const BEGIN: &str = "begin";

/// Society that is debugged.
pub struct DebugTarget {
    /// Process that the session began.
    child: Option<ChildSociety>,
    nodes: Vec<NodeOutput>,
    /// Open connections, for as long as which agents pause for this session.
    connections: Vec<Box<dyn Send>>,
}

/// Node, with the number of its last line of output that is known.
struct NodeOutput {
    node: RunningNode,
    since: u64,
}

impl DebugTarget {
    /// Starts a society that has not begun. Its output goes to the session.
    pub fn launch(
        arguments: &LaunchArguments,
        inputs: &Sender<AdapterInput>,
        printed: &Arc<OutputBacklog>,
    ) -> anyhow::Result<Self> {
        let Some(program) = arguments.program.as_deref().filter(|program| !program.is_empty()) else {
            bail!("`program` is missing: the path of a project (.mas2j) or a program (.asl)");
        };
        if let Some(nodes) = arguments.args.iter().find(|argument| argument.starts_with("--nodes")) {
            bail!("`args` has {nodes}: a session begins one node. Begin several in a terminal, and attach to them");
        }
        let folder = arguments.cwd.as_deref().map(Path::new);
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("`cwd` is {}: there is no such folder", harmless(&folder.to_string_lossy()));
        }
        let path = folder.unwrap_or(Path::new("")).join(program);
        if !path.exists() {
            bail!("`program` is {}: there is no such file", harmless(&path.to_string_lossy()));
        }
        let path = std::path::absolute(&path).context("the current folder is not known")?;
        let mut command = run_command(&project_in(&path)?)?;
        if !arguments.no_debug {
            command.arg("--begin-with-input");
        }
        if !arguments.args.iter().any(|argument| argument.starts_with("--http")) {
            command.args(["--http", "off"]);
        }
        command.args(&arguments.args).envs(&arguments.env);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        let (inputs, printed, last) = (inputs.clone(), Arc::clone(printed), Arc::<Mutex<String>>::default());
        let fault = Arc::clone(&last);
        let mut child = ChildSociety::start(command, move |output, line| {
            let is_fault = output == ChildOutput::Error;
            if is_fault && !line.trim().is_empty() {
                line.clone_into(&mut fault.lock().unwrap_or_else(PoisonError::into_inner));
            }
            if printed.add(is_fault, line.to_owned()) {
                // The session may be ending.
                let _ = inputs.send(AdapterInput::Printed);
            }
        })?;
        let nodes = child.nodes().map_err(|error| {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner);
            anyhow::anyhow!("{error}{}{last}", if last.is_empty() { "" } else { ": " })
        })?;
        Ok(Self {
            child: Some(child),
            nodes: nodes.into_iter().map(NodeOutput::new).collect(),
            connections: Vec::new(),
        })
    }

    /// Finds a running society.
    pub fn attach(arguments: &AttachArguments) -> anyhow::Result<Self> {
        let pid = arguments.pid.as_ref().map(|pid| {
            let number = pid.as_u64().or_else(|| pid.as_str()?.trim().parse().ok());
            number
                .and_then(|number| u32::try_from(number).ok())
                .with_context(|| format!("`pid` is {pid}: expected the number of a process"))
        });
        let choice = PlatformChoice {
            platform: arguments.platform.clone(),
            node: arguments.node.clone(),
            pid: pid.transpose()?,
        };
        let mut nodes: Vec<NodeOutput> = choose(choice)?.into_iter().map(NodeOutput::new).collect();
        // What was printed before is not of this session.
        nodes.iter_mut().for_each(|node| drop(node.take(0)));
        Ok(Self { child: None, nodes, connections: Vec::new() })
    }

    /// Returns true for a society that the session began.
    pub fn is_own(&self) -> bool {
        self.child.is_some()
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> Vec<RunningNode> {
        self.nodes.iter().map(|known| known.node.clone()).collect()
    }

    /// Returns the name of the society.
    pub fn name(&self) -> String {
        self.nodes.first().map(|known| known.node.info.society.clone()).unwrap_or_default()
    }

    /// Has a society that was started begin.
    pub fn begin(&mut self) -> anyhow::Result<()> {
        self.child.as_mut().map_or(Ok(()), |child| child.tell(BEGIN))
    }

    /// Has agents pause as the session wants it, and no longer as it wanted it before.
    pub fn pause_at(&mut self, wanted: &DebuggerWanted) -> anyhow::Result<()> {
        let mut connections: Vec<Box<dyn Send>> = Vec::new();
        for NodeOutput { node, .. } in &self.nodes {
            let mut answers = node.lines::<Answer>(&Request::Debugger(wanted.clone()))?;
            match answers.next().context("the node ended")?? {
                Answer::Done => connections.push(Box::new(answers)),
                Answer::Error(refusal) => return Err(refusal.into()),
                _ => bail!("unexpected answer to a debugger"),
            }
        }
        // The old connections end after the new ones began: agents stay paused.
        self.connections = connections;
        Ok(())
    }

    /// Returns the files of programs.
    pub fn files(&self) -> Vec<SourceLines> {
        let mut files: Vec<SourceLines> = Vec::new();
        for NodeOutput { node, .. } in &self.nodes {
            if let Ok(Answer::StepLines(found)) = node.ask(&Request::StepLines, Duration::ZERO) {
                files.extend(found.files.into_iter().filter(|file| !files.contains(file)).collect::<Vec<_>>());
            }
        }
        files
    }

    /// Returns the names of paused agents; `None` if a node does not answer.
    pub fn paused(&self) -> Option<FxHashSet<String>> {
        let mut all = FxHashSet::default();
        for NodeOutput { node, .. } in &self.nodes {
            match node.ask(&Request::Paused { limit: PAUSED_NAMED_MAX }, Duration::ZERO) {
                Ok(Answer::Paused { agents, .. }) => all.extend(agents),
                _ => return None,
            }
        }
        Some(all)
    }

    /// Returns the names of AgentSpeak agents, this many at most of each node, and the number of all agents.
    pub fn agents(&self, limit: usize) -> (Vec<String>, u64) {
        let wanted = AgentsWanted {
            name: String::new(),
            state: None,
            services: false,
            sort: AgentOrder::Name,
            limit,
            elsewhere_but: None,
        };
        let (mut names, mut total) = (Vec::new(), 0);
        for NodeOutput { node, .. } in &self.nodes {
            if let Ok(Answer::Agents(found)) = node.ask(&Request::Agents(wanted.clone()), Duration::ZERO) {
                total += found.total;
                let agents = found.agents.into_iter().filter(|agent| agent.kind == AgentKind::AgentSpeak);
                names.extend(agents.map(|agent| agent.name));
            }
        }
        (names, total)
    }

    /// Asks about an agent, or orders it something.
    pub fn ask(&self, request: &Request) -> anyhow::Result<Answer> {
        ask_anywhere(&self.nodes(), request, Duration::ZERO)
    }

    /// Inspects an agent.
    pub fn mind(&self, agent: &str) -> anyhow::Result<MindInfo> {
        match self.ask(&Request::Mind { agent: agent.to_owned(), follow: false })? {
            Answer::Mind(mind) => Ok(*mind),
            _ => bail!("unexpected answer to a query for the state of {}", harmless(agent)),
        }
    }

    /// Adds new lines of output. A society that the session began sends its lines itself.
    pub fn look_at_output(&mut self, printed: &OutputBacklog) {
        if self.is_own() {
            return;
        }
        for node in &mut self.nodes {
            let found = node.take(OUTPUT_ANSWER_LINES_MAX);
            printed.leave_out(found.left_out);
            for line in found.lines {
                printed.add(line.kind.is_fault(), format!("[{}] {}", line.agent, line.text));
            }
        }
    }

    /// Returns the exit code of the society if it has ended; `Some(None)` if the code is not known.
    pub fn ended(&mut self) -> Option<Option<i32>> {
        match &mut self.child {
            Some(child) => child.ended().map(|status| {
                child.show_rest();
                status.code()
            }),
            None => self.nodes.iter().all(|known| !known.node.socket().exists()).then_some(None),
        }
    }

    /// Ends what the session began; otherwise agents continue. Ends the society, too, if that is wanted.
    pub fn end(&mut self, ends_society: bool) {
        let nodes = self.nodes();
        match &mut self.child {
            Some(child) if ends_society => child.end(&nodes),
            None if ends_society => {
                if let Some(node) = nodes.first() {
                    // It may have ended itself.
                    let _ = node.ask(&Request::Stop { code: 0 }, Duration::ZERO);
                }
            }
            _ => {}
        }
        self.connections.clear();
    }
}

impl NodeOutput {
    fn new(node: RunningNode) -> Self {
        Self { node, since: 0 }
    }

    fn take(&mut self, limit: usize) -> OutputFound {
        let wanted = OutputWanted { since: self.since, ..OutputWanted::default() };
        match self.node.ask(&Request::Output { wanted, limit }, Duration::ZERO) {
            Ok(Answer::Output(found)) => {
                self.since = found.next;
                found
            }
            _ => OutputFound::default(),
        }
    }
}

//! Environment in Python as an agent: it passes actions on to the process, which answers later.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Performative, Value, sym};
use whimbrel_platform::capabilities::Inspectable;
use whimbrel_platform::inspection::{Detail, Inspection, Look};
use whimbrel_platform::limits::PYTHON_GRID_SIDE_MAX;
use whimbrel_platform::python_frames::ToPython;
use whimbrel_platform::{AgentBody, Next, Time, Turn};

use super::host::{OpenRequest, PythonHost};
use super::terms::for_python;

/// Body of the agent `environment`. Percepts and answers come from the process's own thread.
pub struct PythonEnvironment {
    host: Arc<PythonHost>,
    started: bool,
}

impl PythonEnvironment {
    /// Makes the body. The process starts in its first turn.
    pub fn new(host: Arc<PythonHost>) -> Self {
        Self { host, started: false }
    }

    fn act(&self, turn: &mut Turn<'_>, message: &AclMessage) {
        let agent = message.sender;
        if self.host.core.note_agent(agent) {
            turn.services.monitor(turn.aid, agent);
        }
        let mut answer = Box::new(message.make_reply(turn.aid, Performative::Inform));
        let action = message.content.clone();
        let sent = for_python(&action);
        let pending = OpenRequest::Act(answer.clone(), action);
        let act = |id| ToPython::Act { id, agent: agent.to_string(), action: sent };
        if let Err(why) = self.host.core.request(pending, act) {
            (answer.performative, answer.content) = (Performative::Failure, Value::from(why.as_str()));
            turn.outbox.send(answer);
        }
    }
}

/// Returns the name of the agent that a message of the AMS reports as ended.
fn ended(message: &AclMessage) -> Option<String> {
    let is_news = message.sender.name == sym::AMS && message.performative == Performative::Inform;
    match message.content.args() {
        [name, _] if is_news && message.content.functor().is_some_and(|functor| functor.as_str() == "ended") => {
            Some(name.as_str().map_or_else(|| name.to_string(), ToOwned::to_owned))
        }
        _ => None,
    }
}

impl AgentBody for PythonEnvironment {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if !self.started {
            self.started = true;
            let myself = turn.aid;
            let agents: Vec<_> = turn.services.agents().into_iter().filter(|agent| *agent != myself).collect();
            for agent in &agents {
                turn.services.monitor(myself, *agent);
            }
            self.host.core.begin_environment(myself, agents);
        }
        for _ in 0..turn.budget {
            let Some(message) = turn.mailbox.take() else { return Next::Wait };
            if let Some(name) = ended(&message) {
                self.host.core.note_gone(&name);
            } else if message.performative == Performative::Request {
                self.act(turn, &message);
            }
        }
        Next::Ready
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        let open = self.host.core.end();
        // The AMS ends with the node only; then nobody waits any longer.
        if !turn.services.is_ending(Aid::local(sym::AMS)) {
            self.host.core.fail(open, "the environment has ended");
        }
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Inspectable for PythonEnvironment {
    /// Shows the environment's grid as text, which the console draws.
    fn inspect(&mut self, _look: Look, _now: Time) -> Inspection {
        let details = self.host.core.grid().map(|(columns, rows, objects)| {
            let (drawing, agents) = drawn(columns as usize, rows as usize, &objects);
            vec![Detail::new("grid", drawing), Detail::new("agents", agents.join(" · "))]
        });
        Inspection { details: details.unwrap_or_default(), ..Inspection::default() }
    }
}

/// Draws a grid: `#` for walls, capitals for agents, small letters for objects, `.` for empty cells. Also returns the
/// agents with their cells.
fn drawn(columns: usize, rows: usize, objects: &Value) -> (String, Vec<String>) {
    let (columns, rows) = (columns.min(PYTHON_GRID_SIDE_MAX), rows.min(PYTHON_GRID_SIDE_MAX));
    let mut cells = vec![vec!['.'; columns]; rows];
    let mut agents = Vec::new();
    for object in objects.items() {
        let functor = object.functor().map(|functor| functor.as_str());
        let (letter, name, place) = match (functor, object.args()) {
            (Some("wall"), [x, y]) => ('#', None, (x, y)),
            (Some("object"), [kind, x, y]) => (first_letter(kind).to_ascii_lowercase(), None, (x, y)),
            (Some("agent"), [name, x, y]) => (first_letter(name).to_ascii_uppercase(), Some(name), (x, y)),
            _ => continue,
        };
        let (Value::Int(x), Value::Int(y)) = place else { continue };
        let row = usize::try_from(*y).ok().and_then(|y| cells.get_mut(y));
        if let Some(cell) = row.and_then(|row| row.get_mut(usize::try_from(*x).ok()?)) {
            *cell = letter;
            agents.extend(name.map(|name| format!("{name} at {x},{y}")));
        }
    }
    let lines: Vec<String> = cells.into_iter().map(String::from_iter).collect();
    (lines.join("\n"), agents)
}

fn first_letter(name: &Value) -> char {
    name.as_str().and_then(|name| name.chars().find(|c| c.is_alphabetic())).unwrap_or('x')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_is_drawn_as_text() {
        let at = |kind: &str, args: Vec<Value>| Value::term(kind, args);
        let (two, one) = (Value::Int(2), Value::Int(1));
        let objects = Value::list(vec![
            at("wall", vec![Value::Int(0), one.clone()]),
            at("object", vec![Value::atom("Gold"), two.clone(), Value::Int(0)]),
            at("agent", vec![Value::atom("robot"), two.clone(), one]),
            at("agent", vec![Value::atom("lost"), Value::Int(7), two]),
        ]);
        assert_eq!(drawn(3, 2, &objects), ("..g\n#.R".to_owned(), vec!["robot at 2,1".to_owned()]));
    }
}

//! Paused minds as a debugger shows them: stacks of intentions, scopes and variables.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use whimbrel_operator::MindInfo;
use whimbrel_platform::inspection::{BeliefSeen, FrameSeen, IntentionSeen};

use super::protocol;
use super::source_breakpoints::SourceBreakpoints;
use crate::commands::typed_text::value_in;

/// Children of a value that are shown without paging.
const CHILDREN_MAX: usize = 1_000;

/// Frame of a paused agent.
#[derive(Clone, Debug)]
pub struct ShownFrame {
    /// Agent.
    pub agent: String,
    mind: Arc<MindInfo>,
    /// Plan in progress; `None` for a line between intentions.
    plan: Option<FrameSeen>,
}

impl ShownFrame {
    /// Returns the variables of the plan that have values.
    pub fn variables(&self) -> &[(String, String)] {
        self.plan.as_ref().map_or(&[], |plan| plan.unifier.as_slice())
    }

    /// Returns the mind as it was when the frame was shown.
    pub fn mind(&self) -> &MindInfo {
        &self.mind
    }
}

/// Group of variables, or the children of a value.
#[derive(Clone, Debug)]
struct VariableGroup {
    agent: String,
    /// Names with values; for a text that is a term with parts, the parts can be shown.
    variables: Vec<(String, String)>,
    /// True if values are terms.
    are_terms: bool,
}

/// Frames and variables that a client may ask for, by number, until their agent continues.
#[derive(Debug, Default)]
pub struct MindViews {
    last: i64,
    frames: FxHashMap<i64, ShownFrame>,
    groups: FxHashMap<i64, VariableGroup>,
}

impl MindViews {
    /// Forgets what was shown of an agent.
    pub fn forget(&mut self, agent: &str) {
        self.frames.retain(|_, frame| frame.agent != agent);
        self.groups.retain(|_, group| group.agent != agent);
    }

    /// Returns a frame.
    pub fn frame(&self, number: i64) -> anyhow::Result<&ShownFrame> {
        self.frames.get(&number).ok_or_else(|| anyhow::anyhow!("frame {number} is gone: its agent has continued"))
    }

    /// Returns the stack of an agent: the intention that failed or whose step is next, then the others. Frames that
    /// were shown before stay: clients ask for a stack in parts.
    pub fn stack(&mut self, agent: &str, mind: MindInfo, breakpoints: &SourceBreakpoints, offset: i64) -> Vec<Value> {
        let mind = Arc::new(mind);
        let mut stack = Vec::new();
        for (place, (intention, heading)) in in_order(&mind).into_iter().enumerate() {
            if place > 0 {
                stack.push(self.frame_of(agent, &mind, None, &heading, breakpoints, offset));
            }
            for frame in &intention.frames {
                let text = format!("{} ({})", frame.trigger, frame.plan);
                stack.push(self.frame_of(agent, &mind, Some(frame), &text, breakpoints, offset));
            }
        }
        if stack.is_empty() {
            let heading = "no intention: the agent waits for events";
            stack.push(self.frame_of(agent, &mind, None, heading, breakpoints, offset));
            if let Some(only) = stack.first_mut() {
                // A label cannot be chosen, and this frame is the way to the beliefs.
                only["presentationHint"] = json!("subtle");
            }
        }
        stack
    }

    fn frame_of(
        &mut self,
        agent: &str,
        mind: &Arc<MindInfo>,
        plan: Option<&FrameSeen>,
        text: &str,
        breakpoints: &SourceBreakpoints,
        offset: i64,
    ) -> Value {
        self.last += 1;
        let shown = ShownFrame { agent: agent.to_owned(), mind: Arc::clone(mind), plan: plan.cloned() };
        self.frames.insert(self.last, shown);
        let Some(plan) = plan else {
            return json!({ "id": self.last, "name": text, "line": 0, "column": 0, "presentationHint": "label" });
        };
        let line = i64::from(plan.step_line.unwrap_or(plan.line)) + offset;
        let hint = if breakpoints.knows(&plan.file) { "normal" } else { "subtle" };
        json!({
            "id": self.last, "name": text, "line": line, "column": 1 + offset,
            "source": breakpoints.source(&plan.file), "presentationHint": hint,
        })
    }

    /// Returns the scopes of a frame.
    pub fn scopes(&mut self, frame: i64) -> anyhow::Result<Value> {
        let ShownFrame { agent, mind, plan } = self.frame(frame)?.clone();
        let inside = &mind.inside;
        let mut scopes = Vec::new();
        let mut add = |views: &mut Self, name: &str, variables: Vec<(String, String)>, are_terms: bool| {
            let count = variables.len();
            let group = VariableGroup { agent: agent.clone(), variables, are_terms };
            let number = views.group(group);
            let hint = if are_terms { "locals" } else { "" };
            let mut scope = json!({
                "name": name, "variablesReference": number, "namedVariables": count, "expensive": !are_terms,
            });
            if !hint.is_empty() {
                protocol::set(&mut scope, "presentationHint", json!(hint));
            }
            scopes.push(scope);
        };
        if let Some(plan) = &plan {
            add(self, "Variables", plan.unifier.clone(), true);
        }
        let beliefs = inside.beliefs.iter().map(|belief| (belief.text.clone(), origin(belief)));
        add(self, "Beliefs", with_rest(beliefs.collect(), inside.cut.beliefs), false);
        let goals = inside.goals.iter().map(|goal| {
            let intention = goal.intention.map(|number| format!(", intention {number}")).unwrap_or_default();
            let reason = goal.reason.as_ref().map(|reason| format!(", waits for {reason}")).unwrap_or_default();
            (goal.text.clone(), format!("{}{intention}{reason}", goal.state))
        });
        add(self, "Goals", with_rest(goals.collect(), inside.cut.goals), false);
        let messages = inside
            .mailbox
            .iter()
            .map(|message| (format!("{} from {}", message.performative, message.from), message.content.clone()));
        add(self, "Mailbox", with_rest(messages.collect(), inside.cut.mailbox), false);
        let cycles = inside.recent.iter().map(|cycle| (format!("cycle {}", cycle.cycle), cycle.text.clone()));
        add(self, "Last cycles", cycles.collect(), false);
        Ok(json!({ "scopes": scopes }))
    }

    fn group(&mut self, group: VariableGroup) -> i64 {
        self.last += 1;
        self.groups.insert(self.last, group);
        self.last
    }

    /// Returns a value as clients know it, with a number for its parts if it has any.
    pub fn value(&mut self, agent: &str, text: &str) -> (String, i64) {
        let parts = parts_of(text);
        if parts.is_empty() {
            return (text.to_owned(), 0);
        }
        (text.to_owned(), self.group(VariableGroup { agent: agent.to_owned(), variables: parts, are_terms: true }))
    }

    /// Returns some variables of a scope, or parts of a value.
    pub fn variables(&mut self, number: i64, start: usize, count: usize) -> anyhow::Result<Value> {
        let group = self.groups.get(&number);
        let group =
            group.ok_or_else(|| anyhow::anyhow!("these variables are gone: their agent has continued"))?.clone();
        let count = if count == 0 { CHILDREN_MAX } else { count };
        let mut shown = Vec::new();
        for (name, text) in group.variables.into_iter().skip(start).take(count) {
            let (value, reference) = if group.are_terms { self.value(&group.agent, &text) } else { (text, 0) };
            shown.push(json!({ "name": name, "value": value, "variablesReference": reference }));
        }
        Ok(json!({ "variables": shown }))
    }
}

/// Returns the intentions of a mind with headings: the one that failed, the one whose step is next, then the others.
fn in_order(mind: &MindInfo) -> Vec<(&IntentionSeen, String)> {
    let inside = &mind.inside;
    let failed = inside.failed.as_ref().and_then(|failed| failed.intention.as_ref());
    let is_failed = |intention: &&IntentionSeen| failed.is_none_or(|failed| failed.id != intention.id);
    let is_current = |intention: &IntentionSeen| inside.current == Some(intention.id);
    let (first, others): (Vec<&IntentionSeen>, Vec<&IntentionSeen>) =
        inside.intentions.iter().filter(is_failed).partition(|intention| is_current(intention));
    let all = failed.into_iter().chain(first).chain(others);
    all.map(|intention| {
        let waits = intention.waits_for.as_ref().map(|what| format!(" for {what}")).unwrap_or_default();
        (intention, format!("intention {}, {}{waits}", intention.id, intention.state))
    })
    .collect()
}

/// Returns where a belief is from.
fn origin(belief: &BeliefSeen) -> String {
    if belief.rule {
        return "rule".to_owned();
    }
    let mut parts = belief.sources.clone();
    parts.extend(belief.annotations.iter().cloned());
    parts.join(", ")
}

/// Adds a line about what an inspection left out.
fn with_rest(mut variables: Vec<(String, String)>, cut: u64) -> Vec<(String, String)> {
    if cut > 0 {
        variables.push((format!("and {cut} more"), String::new()));
    }
    variables
}

/// Returns the items of a list, or the arguments of a structure.
fn parts_of(text: &str) -> Vec<(String, String)> {
    let Some(value) = value_in(text) else { return Vec::new() };
    if value.is_list() {
        return value.items().enumerate().map(|(place, item)| (format!("[{place}]"), item.to_string())).collect();
    }
    value.args().iter().enumerate().map(|(place, arg)| (format!("{}", place + 1), arg.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use whimbrel_platform::ams::{AgentKind, AgentState};
    use whimbrel_platform::inspection::Inspection;

    use super::*;

    fn mind() -> MindInfo {
        let frame = |trigger: &str| FrameSeen {
            trigger: trigger.to_owned(),
            plan: "p1".to_owned(),
            file: "bob.asl".to_owned(),
            line: 3,
            step_line: Some(4),
            unifier: vec![("X".to_owned(), "pair(a,[b,c])".to_owned())],
            ..FrameSeen::default()
        };
        let intention = |id, trigger: &str| IntentionSeen {
            id,
            state: "running".to_owned(),
            frames: vec![frame(trigger)],
            ..IntentionSeen::default()
        };
        let inside = Inspection {
            current: Some(2),
            intentions: vec![intention(1, "+!a"), intention(2, "+!b")],
            ..Inspection::default()
        };
        MindInfo {
            agent: "bob@x".to_owned(),
            kind: AgentKind::AgentSpeak,
            state: AgentState::Active,
            node: "n1".to_owned(),
            inside,
        }
    }

    #[test]
    fn present_intention_comes_first() {
        let mut views = MindViews::default();
        let stack = views.stack("bob", mind(), &SourceBreakpoints::default(), 0);
        let names: Vec<&str> = stack.iter().filter_map(|frame| frame["name"].as_str()).collect();
        assert_eq!(names, ["+!b (p1)", "intention 1, running", "+!a (p1)"]);
        assert_eq!((&stack[0]["line"], &stack[1]["presentationHint"]), (&json!(4), &json!("label")));
        let scopes = views.scopes(stack[0]["id"].as_i64().unwrap()).unwrap();
        let number = scopes["scopes"][0]["variablesReference"].as_i64().unwrap();
        let variables = views.variables(number, 0, 0).unwrap();
        assert_eq!(
            (&variables["variables"][0]["name"], &variables["variables"][0]["value"]),
            (&json!("X"), &json!("pair(a,[b,c])"))
        );
        let parts = views.variables(variables["variables"][0]["variablesReference"].as_i64().unwrap(), 1, 1).unwrap();
        assert_eq!(parts["variables"][0]["value"], "[b,c]");
        views.forget("bob");
        assert!(views.variables(number, 0, 0).is_err());
    }
}

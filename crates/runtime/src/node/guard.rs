//! Enforcement of the node's policy, at the place where an act is carried out.

use whimbrel_acl::{Aid, Envelope, Symbol, Text, sym};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::audit::{Act, Party, Refused};
use whimbrel_platform::policy::{Action, Principal, Verdict, act_of_sending};
use whimbrel_platform::route::{NodeId, Place};
use whimbrel_platform::topics::Cast;

use super::Node;

impl Node {
    /// Returns this node's name; empty while it has no links.
    pub fn my_name(&self) -> Symbol {
        let Some(links) = self.linked.links() else { return sym::EMPTY };
        *self.guard.me.get_or_init(|| Symbol::new(&links.me()))
    }

    /// Returns this node's name, or that of the only node while it has no links.
    pub fn called(&self) -> Symbol {
        match self.my_name() {
            sym::EMPTY => Symbol::new(whimbrel_platform::links::ONLY_NODE),
            name => name,
        }
    }

    pub fn name_of(&self, node: NodeId) -> Symbol {
        let name = self.linked.links().and_then(|links| links.name_of(node));
        name.map_or(sym::EMPTY, |name| Symbol::new(&name))
    }

    /// Returns the policy's principal for this agent. Locks the AMS.
    pub fn principal(&self, agent: Aid) -> Principal {
        let ours = agent.platform == sym::EMPTY || agent.platform == self.name;
        if !ours {
            return Principal::Stranger;
        }
        let node = match self.routes.look_up(agent.name).place() {
            Place::Local(_) => self.called(),
            Place::Node(node) => self.name_of(node),
            _ => return Principal::Stranger,
        };
        self.bearer(agent.name, node)
    }

    /// Returns the account that pays for an agent's requests, if it is not the agent's own. Locks the AMS.
    pub fn payer(&self, agent: Aid) -> Option<Text> {
        if let Place::Node(node) = self.routes.look_up(agent.name).place() {
            return Some(format!("node {}", self.name_of(node)).into());
        }
        if let Some(account) = self.kept_agents.account_of(agent.name) {
            return Some(format!("session {account}").into());
        }
        let owner = self.with_ams(|ams| ams.describe(agent))?.owner;
        (owner != sym::EMPTY).then(|| format!("agent {owner}").into())
    }

    /// Returns the principal that bears this name at this node, or did until just now. Locks the AMS.
    pub fn bearer(&self, name: Symbol, node: Symbol) -> Principal {
        let kind = self.with_ams(|ams| ams.kind_anywhere(Aid::local(name)));
        match kind.or_else(|| self.kind_of_ended(name)) {
            Some(AgentKind::Session) => Principal::Session { name, node },
            _ => Principal::Agent { name, node },
        }
    }

    /// Checks that a clone may exist here. Its name must allow it no more than its original's, and lift no
    /// prohibition of it. Modules check this themselves (`Owned::admit`), because they know the first original of
    /// their clones.
    pub fn permit_clone(&self, kind: AgentKind, name: Symbol, of: Symbol) -> Result<(), String> {
        match kind != AgentKind::Wasm && self.guard.policy.favours(name, of, self.called()) {
            true => Err(format!("the policy has other rules for the clone {name} than for its original {of}")),
            false => Ok(()),
        }
    }

    /// Checks an act of another node against the policy.
    pub fn permits_node(&self, node: NodeId, action: Action, object: &str) -> bool {
        self.permits(Principal::Node(self.name_of(node)), action, object)
    }

    /// Returns true if an agent of this node may create an agent of this name, in its turn or through a program.
    pub fn permits_creation(&self, owner: Option<Aid>, name: Symbol, in_turn: bool) -> bool {
        match owner {
            Some(owner) if self.guard.restricts_creating || self.guard.auditor.is_some() => {
                // A creator that is ended in the middle of its turn has no route any more, and is no stranger for
                // that.
                let who = if in_turn { self.bearer(owner.name, self.called()) } else { self.principal(owner) };
                self.permits(who, Action::Create, name.as_str())
            }
            _ => true,
        }
    }

    /// Returns true if an agent of this node may send this message. Called only if the policy restricts sending.
    #[cold]
    pub fn permits_sending(&self, envelope: &Envelope) -> bool {
        // A policy names agents of other platforms whole.
        let to = envelope.to;
        let ours = to.platform == sym::EMPTY || to.platform == self.name;
        let named = if ours { to.name } else { Symbol::new(&to.to_string()) };
        self.permits_writing(envelope.body.sender.name, self.called(), named)
    }

    /// Returns true if the bearer of a name at a node may send a message to this agent, topic or group.
    fn permits_writing(&self, name: Symbol, node: Symbol, to: Symbol) -> bool {
        let (action, object) = act_of_sending(to);
        let may = |who: Principal| self.guard.policy.allows(who, action, &object);
        // The bearer's kind is looked up in the AMS only if it matters: all shards and links wait for that lock.
        let whatever_it_is =
            action != Action::Publish && may(Principal::Agent { name, node }) && may(Principal::Session { name, node });
        whatever_it_is || self.permits(self.bearer(name, node), action, &object)
    }

    /// Returns true if this agent may subscribe to this topic, or join this group.
    pub fn permits_joining(&self, agent: Aid, to: Symbol) -> bool {
        self.guard.policy.rules() == 0 || self.permits(self.principal(agent), Action::Subscribe, object_of_joining(to))
    }

    /// Returns true if another node may get publications of this topic. A forbidden node learns of no subscribers.
    pub fn permits_subscribing(&self, node: NodeId, topic: Symbol) -> bool {
        self.guard.policy.rules() == 0 || self.permits_node(node, Action::Subscribe, object_of_joining(topic))
    }

    /// Removes the messages from `messages`, which came from another node, that their senders may not send. Returns
    /// them.
    pub fn forbidden_among(&self, from: NodeId, messages: &mut Vec<Envelope>) -> Vec<Envelope> {
        if !self.guard.restricts_arriving {
            return Vec::new();
        }
        let node = self.name_of(from);
        let may = |envelope: &Envelope| self.permits_writing(envelope.body.sender.name, node, envelope.to.name);
        messages.extract_if(.., |envelope| !may(envelope)).collect()
    }

    /// Returns true if a rule forbids an act that needs no permission otherwise; the refusal is recorded.
    pub fn forbids(&self, who: Principal, action: Action, object: &str) -> bool {
        let is_denied = self.guard.policy.verdict(who, action, object) == Verdict::Denied;
        if is_denied {
            self.audit(&Refused::forbidden(&who.to_string(), action, object));
        }
        is_denied
    }

    pub fn permits(&self, who: Principal, action: Action, object: &str) -> bool {
        let may = self.guard.policy.allows(who, action, object);
        if !may {
            self.audit(&Refused::forbidden(&who.to_string(), action, object));
        } else if action.is_recorded() && self.guard.auditor.is_some() {
            let who = who.to_string();
            self.note_act(&Act { who: Party::named(&who), from: "", action: action.as_str(), object, detail: "" });
        }
        may
    }

    /// Returns true if an agent may give plans to another one. Modules are sandboxed, and could escape by having
    /// other agents act for them: only a rule permits it to them.
    pub fn permits_teaching(&self, teacher: Aid, pupil: Aid) -> bool {
        let (who, object) = (self.principal(teacher), pupil.name.as_str());
        let is_guest = self.with_ams(|ams| ams.kind_anywhere(teacher)) == Some(AgentKind::Wasm);
        if is_guest && self.guard.policy.verdict(who, Action::Teach, object) != Verdict::Allowed {
            self.audit(&Refused::forbidden(&who.to_string(), Action::Teach, object));
            return false;
        }
        self.permits(who, Action::Teach, object)
    }

    pub fn note_act(&self, act: &Act<'_>) {
        if let Some(auditor) = &self.guard.auditor {
            auditor.allowed(act);
        }
    }

    pub fn audit(&self, refused: &Refused<'_>) {
        if let Some(auditor) = &self.guard.auditor {
            auditor.refused(refused);
        }
    }
}

/// Returns the policy's name of a topic, or `group:NAME`.
fn object_of_joining(to: Symbol) -> &'static str {
    match Cast::split(to) {
        Some((Cast::Broadcast, topic)) => topic,
        _ => to.as_str(),
    }
}

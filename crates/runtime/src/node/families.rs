//! Ending families of agents that do not stop at refusals.

use std::time::Duration;

use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::ams::Ams;
use whimbrel_platform::audit::{RefusalReason, Refused};
use whimbrel_platform::limits::FAMILY_ENDED_EVERY_MS;
use whimbrel_platform::services::{CreateError, LogLevel};

use super::Node;
use crate::sync::{Arc, locked};

impl Node {
    /// Ends condemned families if an agent was refused for its family's sake.
    pub fn end_condemned_after(self: &Arc<Self>, created: &Result<Aid, CreateError>) {
        if matches!(created, Err(CreateError::TooFast { .. } | CreateError::TooManyOfOwner { .. })) {
            self.end_condemned();
        }
    }

    /// Ends the families of agents that do not stop at refusals, a few agents at a time: others have their turns
    /// meanwhile. One thread ends all of them.
    pub fn end_condemned(self: &Arc<Self>) {
        while let Some((root, members)) = self.with_ams(Ams::take_condemned) {
            self.tell_condemned(root, members.len());
            let mut condemned = locked(&self.families);
            // The root goes first, because it could create others.
            condemned.agents.push_back(root);
            condemned.agents.extend(members);
        }
        let mut condemned = locked(&self.families);
        if condemned.is_served || condemned.agents.is_empty() {
            return;
        }
        let node = Arc::clone(self);
        let end = move || {
            loop {
                let some = locked(&node.families).take_some();
                if some.is_empty() {
                    return;
                }
                for name in some {
                    node.kill(name, None);
                }
                std::thread::sleep(Duration::from_millis(FAMILY_ENDED_EVERY_MS));
            }
        };
        match std::thread::Builder::new().name("families".to_owned()).spawn(end) {
            Ok(_) => condemned.is_served = true,
            Err(error) => {
                let text = format!("condemned families do not end: no thread for that: {error}");
                self.output.log(Aid::local(sym::AMS), LogLevel::Severe, &text);
            }
        }
    }

    /// Tells the operator and the root's owner that a family ends.
    fn tell_condemned(&self, root: Symbol, members: usize) {
        let aid = Aid::local(root);
        let reason = format!(
            "ended with the {members} agents that descend from it: they continued to create agents although these were refused"
        );
        self.output.log(aid, LogLevel::Severe, &reason);
        // The root may have ended long ago, and is no stranger for that.
        let is_gone = self.routes.look_up(root).is_unknown();
        let who = if is_gone { self.bearer(root, self.called()) } else { self.principal(aid) };
        let who = who.to_string();
        self.health.note_quota_end(&who, &reason, self.now());
        self.audit(&Refused::somebody(RefusalReason::Quota, &who, &reason));
        self.tell_owner(aid, &reason);
    }

    /// Tells an agent's owner, if it has one, why the agent is to end.
    fn tell_owner(&self, agent: Aid, reason: &str) {
        if let Some(failure) = self.with_ams(|ams| ams.failure_to_owner(agent, reason)) {
            self.post(0, Box::new(failure));
        }
    }
}

//! The scheduler as sessions see it.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::audit::Refused;
use whimbrel_platform::policy::{Action, Principal, Verdict};
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::Host;
use whimbrel_platform::{AgentBody, Time};

use crate::node::{Introduction, Node};
use crate::parcel::Change;
use crate::shard::Slot;
use crate::sync::Arc;

/// See the module.
pub(crate) struct NodeHost(pub Arc<Node>);

impl Host for NodeHost {
    fn platform(&self) -> Symbol {
        self.0.name
    }

    fn node(&self) -> Symbol {
        self.0.my_name()
    }

    fn now(&self) -> Time {
        self.0.now()
    }

    fn lodge(&self, name: Symbol, body: Box<dyn AgentBody>) -> Result<Aid, CreateError> {
        // What it may be called says its token; the policy may forbid it all the same.
        let principal = Principal::Session { name, node: self.0.my_name() };
        if self.0.guard.policy.verdict(principal, Action::Create, name.as_str()) == Verdict::Denied {
            self.0.audit(&Refused::forbidden(&principal.to_string(), Action::Create, name.as_str()));
            return Err(CreateError::Forbidden(name));
        }
        let who = Introduction::new(name, AgentKind::Session);
        let shard = self.0.random() % self.0.seats.len() as u64;
        self.0.create(shard as ShardIndex, who, |_| Ok(Box::new(Slot::new(body))))
    }

    fn wake(&self, agent: Aid) {
        self.0.change(agent.name, Change::Wake);
    }
}

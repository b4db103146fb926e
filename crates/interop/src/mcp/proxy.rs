//! Body of the agent that stands for the client of a call among the agents.

use std::sync::Arc;

use whimbrel_acl::AclMessage;
use whimbrel_platform::capabilities::Inspectable;
use whimbrel_platform::inspection::{Detail, Inspection, Look};
use whimbrel_platform::{AgentBody, Next, Time, Turn};

/// Receiver of the messages to the agents that stand for clients.
pub trait CallProxyPort: Send + Sync + 'static {
    /// Takes a message to the agent of this number.
    fn handle_message(&self, proxy: u32, message: Box<AclMessage>);

    /// Notes that the agent of this number ended.
    fn handle_gone(&self, proxy: u32);

    /// Returns the client's name, and the name of the tool, prompt or resource that it uses.
    fn describe(&self, proxy: u32) -> Option<(String, String)>;
}

/// Body of an agent that stands for the client of a call: it passes on what agents answer.
pub struct CallProxyBody {
    port: Arc<dyn CallProxyPort>,
    proxy: u32,
    /// True once the agent had a turn: a body that could not be started is dropped without one.
    has_begun: bool,
}

impl CallProxyBody {
    /// Makes the body of the agent of this number.
    pub fn new(port: Arc<dyn CallProxyPort>, proxy: u32) -> Self {
        Self { port, proxy, has_begun: false }
    }
}

impl AgentBody for CallProxyBody {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        self.has_begun = true;
        for _ in 0..turn.budget {
            let Some(message) = turn.mailbox.take() else { return Next::Wait };
            self.port.handle_message(self.proxy, message.into_message());
        }
        if turn.mailbox.is_empty() { Next::Wait } else { Next::Ready }
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Inspectable for CallProxyBody {
    fn inspect(&mut self, _look: Look, _now: Time) -> Inspection {
        let Some((client, call)) = self.port.describe(self.proxy) else { return Inspection::default() };
        let details = vec![Detail::new("MCP client", client), Detail::new("call", call)];
        Inspection { details, ..Inspection::default() }
    }
}

impl Drop for CallProxyBody {
    fn drop(&mut self) {
        if self.has_begun {
            self.port.handle_gone(self.proxy);
        }
    }
}

//! Stand-in for the crate `whimbrel` in examples. `cargo xtask tidy` checks that `whimbrel` has each of these names.

pub mod agents {
    pub use crate::Supervisor;
}

pub mod behaviours {
    pub use crate::behaving;
    pub use crate::behaviour::{Cyclic, Fsm, OneShot, Step, Ticker};
}

pub mod durable_agents {
    pub use crate::durable_agent::durable;
}

pub mod messages {
    pub use whimbrel_acl::Symbol;
}

pub mod mobility {
    pub use crate::{DispatchError, Itinerary, Leg, Minion};
    pub use whimbrel_platform::mobility::Hop;
}

pub mod prelude {
    pub use crate::{Agent, Context, DurableAgent, DurableContext, Platform};
    pub use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Template, Value};
}

pub mod topics {
    pub use whimbrel_platform::topics::topic;
}

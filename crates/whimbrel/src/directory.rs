//! Directories of a platform: agents and their states (AMS), and the services that they offer (DF).
//!
//! Agents register and find services by [`Context::services`](crate::agents::Context::services). A program asks from
//! outside:
//!
//! ```
//! use whimbrel::directory::AgentQuery;
//! use whimbrel::prelude::*;
//!
//! struct Bidder;
//!
//! impl Agent for Bidder {
//!     fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
//!         ctx.services().df_register(ctx.aid(), "painting", "").expect("no policy forbids it");
//!     }
//!
//!     fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {}
//! }
//!
//! let platform = Platform::builder().build();
//! platform.spawn_population("bidder", 2, |_| Bidder)?;
//! platform.wait_idle();
//! assert_eq!(platform.services().df_search("painting", "").len(), 2);
//! assert_eq!(platform.search(&AgentQuery::named("bidder*")).len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use whimbrel_platform::ams::{
    AgentDescription, AgentKind, AgentQuery, AgentState, CloneError, LifecycleError, LifecycleStep,
};
#[doc(inline)]
pub use whimbrel_platform::df::{
    Df, DfDescription, DfQuery, ModifyError, NotRegistered, RegisterError, ServiceDescription, SubscribeError,
    Subscription,
};
#[doc(inline)]
pub use whimbrel_platform::services::OfferError;

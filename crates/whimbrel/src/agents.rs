//! Agents written in Rust, and the platform that runs them.
//!
//! An agent is a type with handlers ([`Agent`]). The platform calls one handler in each turn. A handler acts by its
//! [`Context`]: it sends, replies, creates agents, prints. It never blocks; [`Context::offload`] runs work that does.
//!
//! A [`Supervisor`] starts failed agents again:
//!
//! ```
//! use whimbrel::agents::Supervisor;
//! use whimbrel::prelude::*;
//!
//! /// Agent that divides 60 by the content of each message.
//! struct Divider;
//!
//! impl Agent for Divider {
//!     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
//!         let divisor = message.content.as_i64().unwrap_or(1);
//!         ctx.reply(&message, Performative::Inform, 60 / divisor);
//!     }
//! }
//!
//! let platform = Platform::builder().build();
//! platform.supervise("office", Supervisor::one_for_one().child("divider", || Divider))?;
//! platform.wait_idle();
//!
//! let divider = Aid::local("divider");
//! platform.send(AclMessage::new(Performative::Request, "ada".parse()?, divider, 0)); // the divider panics
//! platform.wait_idle();
//! assert_eq!(platform.ask(divider, Performative::Request, 4)?.content, Value::from(15)); // a new one answers
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use whimbrel_platform::services::{CreateError, LogLevel};
#[doc(inline)]
pub use whimbrel_platform::{EndReason, Services, Time};
#[doc(inline)]
pub use whimbrel_runtime::supervision::Restart;
#[doc(inline)]
pub use whimbrel_runtime::{Agent, AskError, Console, Context, Output, Platform, PlatformBuilder, Supervisor};

//! Topics and groups: receivers that stand for several agents.
//!
//! [`Context`](crate::agents::Context) subscribes, publishes, joins, and sends to groups by name. These functions
//! return the addresses, for other senders and for templates.
//!
//! ```
//! use whimbrel::prelude::*;
//! use whimbrel::topics::topic;
//!
//! struct Display;
//!
//! impl Agent for Display {
//!     fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
//!         ctx.subscribe("weather").expect("a valid name");
//!     }
//!
//!     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
//!         ctx.print(&format!("{} says {}", message.sender.name, message.content));
//!     }
//! }
//!
//! let platform = Platform::builder().build();
//! platform.spawn_population("display", 3, |_| Display)?;
//! platform.wait_idle();
//! platform.send(AclMessage::new(Performative::Inform, Aid::local("station"), topic("weather")?, "rain"));
//! platform.wait_idle();
//! assert_eq!(platform.handled(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use whimbrel_platform::topics::{TopicError, any_member, group, topic};

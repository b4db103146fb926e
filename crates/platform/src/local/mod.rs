//! Platform of one thread: agents with slots and mailboxes, the AMS, the DF and topics, without nodes and shards. Pages
//! and simulators are made of it.
//!
//! [`LocalPlatform`] gives agents their turns and delivers their messages. Its [`LocalHost`] has the clock, the random
//! numbers, the files and the output. An agent that prints what it hears:
//!
//! ```
//! use std::sync::Mutex;
//!
//! use whimbrel_acl::{AclMessage, Aid, Performative};
//! use whimbrel_platform::ams::{AgentKind, NewAgent};
//! use whimbrel_platform::local::{LocalHost, LocalPlatform};
//! use whimbrel_platform::services::LogLevel;
//! use whimbrel_platform::{AgentBody, Next, Time, Turn};
//!
//! /// Host whose time stands still.
//! #[derive(Default)]
//! struct Console(Mutex<Vec<String>>);
//!
//! impl LocalHost for Console {
//!     fn now(&self) -> Time {
//!         Time::ZERO
//!     }
//!
//!     fn wall_clock_ms(&self) -> u64 {
//!         0
//!     }
//!
//!     fn random(&self) -> u64 {
//!         4
//!     }
//!
//!     fn print(&self, agent: Aid, text: &str) {
//!         self.0.lock().unwrap().push(format!("[{agent}] {text}"));
//!     }
//!
//!     fn log(&self, _: Aid, _: LogLevel, _: &str) {}
//! }
//!
//! struct Printer;
//!
//! impl AgentBody for Printer {
//!     fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
//!         while let Some(message) = turn.mailbox.take() {
//!             turn.services.print(turn.aid, &message.content.to_string());
//!         }
//!         Next::Wait
//!     }
//! }
//!
//! let mut platform = LocalPlatform::new("home", Console::default());
//! let printer = platform.spawn(NewAgent::new("printer", AgentKind::Native), Box::new(Printer))?;
//! platform.send(AclMessage::new(Performative::Inform, Aid::local("me"), printer, "hello"));
//!
//! platform.pass_time();
//! platform.settle();
//! while let Some(agent) = platform.next_due() {
//!     platform.give_turn(agent, 10);
//!     platform.settle();
//! }
//! assert_eq!(*platform.host().0.lock().unwrap(), [r#"[printer] "hello""#]);
//! platform.counters().check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod host;
mod platform;
mod registry;
mod services;
mod slots;

pub use host::{HostRoute, LocalHost};
pub use platform::LocalPlatform;
pub use registry::LocalRegistry;
pub use services::LocalServices;
pub use slots::LocalSlot;

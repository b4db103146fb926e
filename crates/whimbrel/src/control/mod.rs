//! Running nodes and who looks at them: each node has a control socket, which the other commands talk to.

mod afar;
mod bulk;
mod choice;
mod client;
mod content;
mod cursor;
mod devices;
mod entries;
mod first;
mod folder;
mod health;
pub mod history;
mod killing;
mod mail;
mod merge;
mod minds;
pub mod natural;
mod operator;
mod panel;
mod security;
mod server;
mod services;

mod society;
mod spawning;
mod tap;
mod traffic;
mod upkeep;

use std::time::Duration;

use whimbrel_platform::limits::{KILL_PATIENCE_MS, LINK_GIVE_UP_MS};

pub use self::afar::listen;
pub use self::choice::{Target, choose, platforms};
pub use self::client::{Found, Survey, survey};
pub use self::content::content_of;
pub use self::cursor::Cursor;
pub use self::merge::Merge;
pub use self::panel::Panel;
pub use self::panel::merge;
pub use self::server::Control;
pub use self::tap::{began_us, happening, wall_us};

/// How long a node waits for another one to which it offered an agent.
pub const MOVE_PATIENCE: Duration = Duration::from_millis(LINK_GIVE_UP_MS + 5_000);
/// What is said instead of a node's name if an agent may be on any.
pub const ANYWHERE: &str = "*";
/// How long a node may take to find out whether an agent has ended.
pub const KILL_PATIENCE: Duration = Duration::from_millis(KILL_PATIENCE_MS);

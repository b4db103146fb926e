//! Control of running nodes: each node has a control socket, to which the other commands connect.

mod bulk;
mod client;
mod content;
mod cursor;
mod debuggers;
mod devices;
mod df_entries;
mod gateway_port;
mod health;
pub mod history;
mod keep_first;
mod killing;
#[cfg(unix)]
mod local_socket;
#[cfg(any(windows, test))]
mod loopback_socket;
mod merge;
mod minds;
pub mod name_order;
mod operator_mail;
mod operator_service;
mod output;
mod platform_choice;
mod program_texts;
mod recent_events;
mod remote_query;
mod security;
mod server;
mod services;
mod socket_folder;

mod code_and_quotas;
mod sniffer;
mod society;
mod spawning;
mod traffic;
mod while_asked;

#[cfg(windows)]
use self::loopback_socket as local_socket;

use std::time::Duration;

use whimbrel_platform::limits::{KILL_PATIENCE_MS, LINK_GIVE_UP_MS};

pub use self::client::{RunningNode, Survey, survey};
pub use self::content::content_of;
pub use self::cursor::Cursor;
pub use self::merge::Merge;
pub use self::operator_service::OperatorService;
pub use self::operator_service::merge;
pub use self::platform_choice::{PlatformChoice, choose, platforms};
pub use self::remote_query::listen;
pub use self::server::Control;
pub use self::sniffer::{began_us, happening, wall_us};

/// Longest wait of a node for an offered agent's new node.
pub const MOVE_PATIENCE: Duration = Duration::from_millis(LINK_GIVE_UP_MS + 5_000);
/// Name that stands for any node.
pub const ANYWHERE: &str = "*";
/// Longest time in which a node finds out whether an agent has ended.
pub const KILL_PATIENCE: Duration = Duration::from_millis(KILL_PATIENCE_MS);

//! Running nodes and who looks at them: each node has a control socket, which the other commands talk to.

mod choice;
mod client;
mod cursor;
mod folder;
pub mod history;
mod mail;
mod merge;
mod natural;
mod panel;
pub mod protocol;
mod server;
mod services;
mod tap;

pub use self::choice::{Target, choose, platforms};
pub use self::client::{Found, Survey, survey};
pub use self::cursor::Cursor;
pub use self::merge::Merge;
pub use self::panel::Panel;
pub use self::panel::merge;
pub use self::server::Control;
pub use self::tap::{began_us, happening};

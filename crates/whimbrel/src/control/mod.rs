//! Running nodes and who looks at them: each node has a control socket, which the other commands talk to.

mod choice;
mod client;
mod folder;
mod mail;
mod natural;
mod panel;
pub mod protocol;
mod server;
mod services;
mod tap;

pub use self::choice::{Target, choose, platforms};
pub use self::client::{Found, Survey, survey};
pub use self::panel::Panel;
pub use self::panel::merge;
pub use self::server::Control;
pub use self::tap::happening;

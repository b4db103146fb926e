//! Agents written in Rust.

use whimbrel_acl::MessageBody;

use crate::context::Context;

/// An agent written in Rust.
///
/// ```
/// # use whimbrel_runtime::facade as whimbrel;
/// use whimbrel::prelude::*;
///
/// struct Greeter {
///     greeted: u32,
/// }
///
/// impl Agent for Greeter {
///     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
///         self.greeted += 1;
///         ctx.reply(&message, Performative::Inform, format!("hello, number {}", self.greeted));
///     }
/// }
///
/// let platform = Platform::builder().name("home").workers(2).build();
/// let amy = platform.spawn("amy", Greeter { greeted: 0 })?;
/// let answer = platform.ask(amy, Performative::Request, "greet me")?;
/// assert_eq!(answer.content.to_string(), r#""hello, number 1""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Agent: Send + 'static {
    /// True if messages that no behaviour takes wait in the mailbox, instead of being handed to
    /// [`Agent::on_message`].
    const BEHAVIOURS_ONLY: bool = false;

    /// Called once, before the first message.
    fn on_start(&mut self, _ctx: &mut Context<'_, '_>) {}

    /// Called for each message that no behaviour took, in the order of their arrival.
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody);

    /// Called once, when another agent ends this one, or when the platform stops.
    fn on_stop(&mut self, _ctx: &mut Context<'_, '_>) {}
}

/// Creates an agent that consists of its behaviours; `set_up` adds the first of them.
pub fn behaving<F: FnOnce(&mut Context<'_, '_>) + Send + 'static>(set_up: F) -> impl Agent {
    Behaving { set_up: Some(set_up) }
}

struct Behaving<F> {
    set_up: Option<F>,
}

impl<F: FnOnce(&mut Context<'_, '_>) + Send + 'static> Agent for Behaving<F> {
    const BEHAVIOURS_ONLY: bool = true;

    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        if let Some(set_up) = self.set_up.take() {
            set_up(ctx);
        }
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {}
}

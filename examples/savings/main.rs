//! Agents written in Rust that outlive their process: `cargo run --release --example savings FOLDER`.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel::durable_agents::{durable, kept_in};
use whimbrel::prelude::*;

/// Length of a month in this example.
const MONTH: Duration = Duration::from_millis(50);

/// Agent that saves ten each month, for a year.
#[derive(Serialize, Deserialize)]
struct Saver {
    months_left: u32,
}

impl DurableAgent for Saver {
    const KIND: &'static str = "saver";

    fn on_start(&mut self, ctx: &mut DurableContext<'_, '_>) {
        ctx.set_timer("payday", MONTH);
    }

    fn on_timer(&mut self, ctx: &mut DurableContext<'_, '_>, _timer: &str) {
        ctx.tell(Aid::local("bank"), Performative::Request, Value::term("deposit", [Value::from(10)]));
        self.months_left -= 1;
        if self.months_left > 0 {
            ctx.set_timer("payday", MONTH);
        }
    }

    fn on_message(&mut self, _ctx: &mut DurableContext<'_, '_>, _message: MessageBody) {}
}

/// Agent that keeps the account.
#[derive(Default, Serialize, Deserialize)]
struct Bank {
    balance: i64,
    deposits: u32,
}

impl DurableAgent for Bank {
    const KIND: &'static str = "bank";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        let [amount] = message.content.args() else { return };
        self.balance += amount.as_i64().unwrap_or_default();
        self.deposits += 1;
        ctx.print(&format!("deposit {}: {}", self.deposits, self.balance));
        if self.deposits == 12 {
            ctx.services().stop(0, 0);
        }
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("say in which folder the savings are to be kept")?;
    let platform = Platform::builder().kind::<Saver>().kind::<Bank>().durable(kept_in(folder)?).build();
    platform.spawn_together([durable("bank", Bank::default()), durable("saver", Saver { months_left: 12 })])?;
    Ok(ExitCode::from(u8::try_from(platform.run_until_stopped())?))
}

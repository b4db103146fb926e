//! Creatures of three colours meet in pairs through a broker; both leave with the complement colour.

use std::sync::mpsc::{Sender, channel};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::PATIENCE;

/// Broker: pairs each creature that comes with the next one, until all meetings have taken place.
struct MeetingBroker {
    left: u64,
    waiting: Option<Box<AclMessage>>,
}

impl Agent for MeetingBroker {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut second = message.into_message();
        if self.left == 0 {
            ctx.reply(&second, Performative::Refuse, Value::Null);
            return;
        }
        let Some(mut first) = self.waiting.take() else {
            self.waiting = Some(second);
            return;
        };
        self.left -= 1;
        std::mem::swap(&mut first.content, &mut second.content);
        for mut meeting in [first, second] {
            meeting.performative = Performative::Inform;
            meeting.receivers.clear();
            meeting.receivers.push(meeting.sender);
            ctx.send(meeting);
        }
    }
}

struct NativeCreature {
    broker: Aid,
    /// 0, 1 or 2: the three add up to 3, so two different ones leave the third.
    color: i64,
    met: u64,
    report: Sender<f64>,
}

impl Agent for NativeCreature {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.send(AclMessage::new(Performative::Request, ctx.aid(), self.broker, Value::Int(self.color)));
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut meeting = message.into_message();
        let Value::Int(other) = meeting.content else {
            let _ = self.report.send(self.met as f64);
            return;
        };
        self.met += 1;
        if other != self.color {
            self.color = 3 - other - self.color;
        }
        meeting.performative = Performative::Request;
        meeting.content = Value::Int(self.color);
        meeting.receivers.clear();
        meeting.receivers.push(self.broker);
        ctx.send(meeting);
    }
}

/// Returns the number of meetings of each creature.
pub fn run(platform: &Platform, creatures: u64, meetings: u64) -> Vec<f64> {
    let (report, reports) = channel();
    let Ok(broker) = platform.spawn("broker", MeetingBroker { left: meetings, waiting: None }) else {
        return Vec::new();
    };
    let creature = |index: usize| NativeCreature { broker, color: index as i64 % 3, met: 0, report: report.clone() };
    if platform.spawn_population("creature", creatures as usize, creature).is_err() {
        return Vec::new();
    }
    (0..creatures).map_while(|_| reports.recv_timeout(PATIENCE).ok()).collect()
}

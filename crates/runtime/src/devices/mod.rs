//! The agent `devices`: it knows the devices that take part (browsers' tabs, volunteers), and shares out among them what others ask it to
//! have done. The books are kept by [`whimbrel_platform::devices`]; docs/guide/devices.md says what is said to it.

mod words;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Text, Value, sym};
use whimbrel_platform::Time;
use whimbrel_platform::devices::{Fleet, Part, Verdict, Work};
use whimbrel_platform::limits::{WORK_BYTES_MAX, WORK_KINDS_KEPT, WORK_PARTS_MAX};

use self::words::{Offer, Share, description};
use crate::agent::Agent;
use crate::context::Context;

/// Its name.
pub const DEVICES: &str = "devices";

/// What a part of work is quoted by in messages to devices: its kind's number and its own.
const TICKET: &str = "part";

/// Somebody wants a part done.
struct Wanted {
    question: MessageBody,
    content: Value,
    bytes: usize,
}

/// All work of one kind.
struct Trade {
    kind: Text,
    work: Work<Value>,
    wanted: FxHashMap<Part, Wanted>,
}

/// See the module.
#[derive(Default)]
pub struct Devices {
    fleet: Fleet,
    /// What each device can do.
    kinds: FxHashMap<Symbol, Vec<Text>>,
    /// By their numbers, the newest last.
    trades: BTreeMap<u64, Trade>,
    trades_made: u64,
    /// Who asked for what: by agent, so that nothing is done for those who are gone.
    askers: FxHashMap<Symbol, FxHashSet<(u64, Part)>>,
    bytes: usize,
    /// When it is to look again, if it said so.
    wakes_at: Option<Time>,
}

impl Agent for Devices {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        self.handle(ctx, message);
        let now = ctx.now();
        for trade in self.trades.values_mut() {
            trade.work.handle_timeout(now, &mut self.fleet);
        }
        self.lend(ctx);
        self.tell_outcomes(ctx);
        self.set_alarm(ctx);
    }
}

impl Devices {
    fn handle(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.sender == ctx.aid() {
            self.wakes_at = None;
        } else if let Some(gone) = gone(&message) {
            self.forget(gone);
        } else if let Some((trade, part)) = ticket_of(&message) {
            self.hear_answer(ctx, trade, part, message);
        } else {
            match message.performative {
                Performative::Inform => self.hear_device(ctx, &message),
                Performative::Disconfirm => self.forget(message.sender.name),
                Performative::QueryRef if message.content.functor() == Some(Symbol::new(DEVICES)) => {
                    let all = self.describe();
                    ctx.reply(&message, Performative::Inform, all);
                }
                // A failure to an answer of its own, and the like.
                Performative::Failure | Performative::NotUnderstood | Performative::Refuse => {}
                _ => self.hear_request(ctx, message),
            }
        }
    }

    /// A device joins, or is doing otherwise than before.
    fn hear_device(&mut self, ctx: &mut Context<'_, '_>, message: &AclMessage) {
        let device = message.sender;
        let joined = Offer::read(device.name, &message.content).and_then(|offer| {
            let is_new = self.fleet.device(device.name).is_none();
            self.fleet.join(offer.device).map_err(|error| error.to_string())?;
            self.kinds.insert(device.name, offer.kinds);
            Ok(is_new)
        });
        match joined {
            Ok(is_new) => {
                if is_new {
                    ctx.monitor(device);
                }
                if message.extras().reply_with.is_some() {
                    ctx.reply(message, Performative::Confirm, Value::atom("joined"));
                }
            }
            Err(why) => ctx.reply(message, Performative::Refuse, why),
        }
    }

    /// Somebody wants something done.
    fn hear_request(&mut self, ctx: &mut Context<'_, '_>, question: MessageBody) {
        let share = match Share::read(&question.content) {
            Ok(share) => share,
            Err(why) => return ctx.reply(&question, Performative::NotUnderstood, why),
        };
        let bytes = question.footprint(WORK_BYTES_MAX);
        let unfinished: usize = self.trades.values().map(|trade| trade.work.unfinished()).sum();
        if unfinished >= WORK_PARTS_MAX || self.bytes + bytes > WORK_BYTES_MAX {
            return ctx.reply(&question, Performative::Refuse, "there is too much to do already");
        }
        self.bytes += bytes;
        let asker = question.sender;
        let content = share.content();
        let at = self.trade(share.kind);
        let Some(trade) = self.trades.get_mut(&at) else { return };
        let part = trade.work.add(share.terms);
        trade.wanted.insert(part, Wanted { question, content, bytes });
        let asked = self.askers.entry(asker.name).or_insert_with(|| {
            ctx.monitor(asker);
            FxHashSet::default()
        });
        asked.insert((at, part));
    }

    /// The number of the trade of this kind.
    fn trade(&mut self, kind: Text) -> u64 {
        let known = self.trades.iter().find(|(_, trade)| trade.kind == kind).map(|(at, _)| *at);
        known.unwrap_or_else(|| {
            let idle = self.trades.iter().find(|(_, trade)| trade.work.unfinished() == 0).map(|(at, _)| *at);
            if let Some(idle) = idle.filter(|_| self.trades.len() >= WORK_KINDS_KEPT) {
                self.trades.remove(&idle);
            }
            let at = self.trades_made;
            self.trades_made += 1;
            self.trades.insert(at, Trade { kind, work: Work::default(), wanted: FxHashMap::default() });
            at
        })
    }

    /// A device says what came of a part.
    fn hear_answer(&mut self, ctx: &mut Context<'_, '_>, trade: u64, part: Part, mut message: MessageBody) {
        let (device, performative) = (message.sender.name, message.performative);
        let Some(trade) = self.trades.get_mut(&trade) else { return };
        match performative {
            Performative::Agree => {}
            Performative::Inform | Performative::InformRef => {
                let answer = match &mut message {
                    MessageBody::Owned(owned) => std::mem::take(&mut owned.content),
                    shared => shared.content.clone(),
                };
                if trade.work.handle_answer(ctx.now(), device, part, answer, &mut self.fleet) == Verdict::Unasked {
                    ctx.reply(&message, Performative::Refuse, "you were not asked that, or said something already");
                }
            }
            // Of its own accord, or since it is gone.
            _ if message.sender.name == sym::AMS => {}
            _ => trade.work.handle_failure(device, part, &mut self.fleet),
        }
    }

    /// An agent is gone: as a device, and as somebody who wants something.
    fn forget(&mut self, agent: Symbol) {
        if self.fleet.leave(agent) {
            self.kinds.remove(&agent);
            for trade in self.trades.values_mut() {
                trade.work.handle_gone(agent, &mut self.fleet);
            }
        }
        for (at, part) in self.askers.remove(&agent).into_iter().flatten() {
            let Some(trade) = self.trades.get_mut(&at) else { continue };
            trade.work.withdraw(part, &mut self.fleet);
            self.bytes -= trade.wanted.remove(&part).map_or(0, |wanted| wanted.bytes);
        }
    }

    fn lend(&mut self, ctx: &mut Context<'_, '_>) {
        let Self { fleet, kinds, trades, .. } = self;
        let (now, me) = (ctx.now(), ctx.aid());
        for (at, trade) in trades.iter_mut() {
            let suits = |device: Symbol| kinds.get(&device).is_some_and(|kinds| kinds.contains(&trade.kind));
            loop {
                let services = ctx.services();
                let Some(lease) = trade.work.poll_lease(now, fleet, &mut || services.random(), &suits) else { break };
                let Some(wanted) = trade.wanted.get(&lease.part) else { continue };
                let content = wanted.content.clone();
                let part = AclMessage::new(Performative::Request, me, Aid::local(lease.device), content)
                    .with_reply_with(format!("{TICKET}-{at}-{}", lease.part));
                ctx.send(part);
            }
        }
    }

    fn tell_outcomes(&mut self, ctx: &mut Context<'_, '_>) {
        for (at, trade) in &mut self.trades {
            while let Some((part, outcome)) = trade.work.poll_outcome() {
                let Some(wanted) = trade.wanted.remove(&part) else { continue };
                self.bytes -= wanted.bytes;
                let asker = wanted.question.sender.name;
                if let Some(asked) = self.askers.get_mut(&asker) {
                    asked.remove(&(*at, part));
                }
                match outcome {
                    Ok(answer) => ctx.reply(&wanted.question, Performative::Inform, answer),
                    Err(why) => ctx.reply(&wanted.question, Performative::Failure, why.to_string()),
                }
            }
        }
    }

    /// Sees to it that it looks again when something is overdue.
    fn set_alarm(&mut self, ctx: &mut Context<'_, '_>) {
        let is_free = self.fleet.units_free() > 0;
        let due = |trade: &Trade| {
            let dawdling = trade.work.poll_dawdling().filter(|_| is_free);
            trade.work.poll_timeout().min(dawdling.unwrap_or(Time::NEVER))
        };
        let at = self.trades.values().map(due).min().unwrap_or(Time::NEVER);
        if at == Time::NEVER || self.wakes_at.is_some_and(|wakes_at| wakes_at <= at) {
            return;
        }
        self.wakes_at = Some(at);
        let now = ctx.now();
        ctx.after(at - now, |ctx| {
            let me = ctx.aid();
            ctx.tell(me, Performative::Inform, Value::Null);
        });
    }

    fn describe(&self) -> Value {
        let by_name: BTreeMap<&str, Value> = self
            .fleet
            .devices()
            .map(|device| {
                let kinds = self.kinds.get(&device.agent).map(Vec::as_slice).unwrap_or_default();
                (device.agent.as_str(), description(device, self.fleet.taken(device.agent), kinds))
            })
            .collect();
        Value::list(by_name.into_values().collect::<Vec<_>>())
    }
}

/// Who ended, if the AMS says so.
fn gone(message: &AclMessage) -> Option<Symbol> {
    let is_news =
        message.sender.name == sym::AMS && message.content.functor().is_some_and(|name| name.as_str() == "ended");
    let name = message.content.args().first().filter(|_| is_news)?;
    name.as_str().map(Symbol::new)
}

/// Which part of which trade a message is about.
fn ticket_of(message: &AclMessage) -> Option<(u64, Part)> {
    let (trade, part) =
        message.extras().in_reply_to.as_deref()?.strip_prefix(TICKET)?.strip_prefix('-')?.split_once('-')?;
    Some((trade.parse().ok()?, part.parse().ok()?))
}

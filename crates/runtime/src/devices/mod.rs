//! The agent `devices`: it knows the devices that take part (browsers' tabs, volunteers), and shares out among them what others ask it to
//! have done. The books are kept by [`whimbrel_platform::devices`]; docs/guide/devices.md says what is said to it.

mod roll;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Text, Value, sym};
use whimbrel_platform::Time;
use whimbrel_platform::devices::{Answered, Device, Part, Verdict, Work};
use whimbrel_platform::limits::{
    WORK_BYTES_MAX, WORK_BYTES_PER_PAYER_MAX, WORK_KINDS_MAX, WORK_KINDS_PER_PAYER_MAX, WORK_PARTS_EACH_MAX,
    WORK_PARTS_MAX, WORK_PARTS_PER_PAYER_MAX,
};

pub use self::roll::{DeviceSeen, Roll};
use self::roll::{Enrolled, Told};
use self::words::{Offer, Share, description};
use crate::agent::Agent;
use crate::context::Context;
use crate::sync::locked;

/// Its name.
pub const DEVICES: &str = "devices";

/// What a part of work is quoted by in messages to devices: its kind's number and its own.
const TICKET: &str = "part";

/// Somebody wants a part done.
struct Wanted {
    question: MessageBody,
    content: Value,
    named: bool,
    /// Of the question, and of answers that wait for others.
    bytes: usize,
    /// Who pays for it, if that is somebody else than the asker.
    payer: Option<Text>,
}

/// What is being done for one who pays.
#[derive(Default)]
struct Bill {
    parts: usize,
    bytes: usize,
}

/// All work of one kind.
struct Trade {
    kind: Text,
    work: Work<Value>,
    wanted: FxHashMap<Part, Wanted>,
    /// Something happened since nothing more could be lent.
    is_stirred: bool,
    /// Who wanted it first.
    payer: Option<Text>,
}

/// See the module.
#[derive(Default)]
pub struct Devices {
    roll: Roll,
    /// By their numbers, the newest last.
    trades: BTreeMap<u64, Trade>,
    trades_made: u64,
    /// Who asked for what: by agent, so that nothing is done for those who are gone.
    askers: FxHashMap<Symbol, FxHashSet<(u64, Part)>>,
    bytes: usize,
    /// By who pays.
    bills: FxHashMap<Text, Bill>,
    /// Whose ends it is told.
    watched: FxHashSet<Symbol>,
    /// When it tells itself to look again.
    alarms: BTreeSet<Time>,
}

impl Agent for Devices {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        self.handle(ctx, message);
        self.look_at_the_clock(ctx.now());
        self.lend(ctx);
        self.tell_outcomes(ctx);
        self.set_alarm(ctx);
    }
}

impl Devices {
    /// The same, whose devices those see who have the roll.
    pub fn enrolled_in(roll: Roll) -> Self {
        Self { roll, ..Self::default() }
    }

    fn look_at_the_clock(&mut self, now: Time) {
        let mut enrolled = locked(&self.roll.0);
        for trade in self.trades.values_mut() {
            trade.is_stirred |= trade.work.poll_timeout() <= now;
            trade.work.handle_timeout(now, &mut enrolled.fleet);
        }
    }

    fn handle(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.sender == ctx.aid() {
            let now = ctx.now();
            self.alarms.retain(|at| *at > now);
            // What dawdles now did not when it was looked at last.
            self.trades.values_mut().for_each(|trade| trade.is_stirred = true);
        } else if let Some(gone) = gone(&message) {
            self.watched.remove(&gone);
            self.forget_device(gone);
            self.forget_asker(gone);
        } else if let Some((trade, part)) = ticket_of(&message) {
            self.hear_answer(ctx, trade, part, message);
        } else {
            match message.performative {
                Performative::Inform => self.hear_device(ctx, &message),
                Performative::Disconfirm => self.forget_device(message.sender.name),
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
        let joined = Offer::read(device.name, &message.content).and_then(|Offer { device, kinds, agents }| {
            let mut enrolled = locked(&self.roll.0);
            enrolled.fleet.join(device).map_err(|error| error.to_string())?;
            enrolled.told.insert(device.agent, Told { kinds, agents });
            Ok(())
        });
        match joined {
            Ok(()) => {
                self.watch(ctx, device);
                self.stir(device.name);
                if message.extras().reply_with.is_some() {
                    ctx.reply(message, Performative::Confirm, Value::atom("joined"));
                }
            }
            Err(why) => ctx.reply(message, Performative::Refuse, why),
        }
    }

    /// Has itself told when an agent ends.
    fn watch(&mut self, ctx: &mut Context<'_, '_>, agent: Aid) {
        if self.watched.insert(agent.name) {
            ctx.monitor(agent);
        }
    }

    /// A device can do more than before.
    fn stir(&mut self, device: Symbol) {
        let enrolled = locked(&self.roll.0);
        let kinds = enrolled.kinds(device);
        for trade in self.trades.values_mut() {
            trade.is_stirred |= kinds.contains(&trade.kind);
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
        let own = self.askers.get(&question.sender.name).map_or(0, FxHashSet::len);
        if unfinished >= WORK_PARTS_MAX || own >= WORK_PARTS_EACH_MAX || self.bytes + bytes > WORK_BYTES_MAX {
            return ctx.reply(&question, Performative::Refuse, "there is too much to do already");
        }
        let payer = ctx.services().payer(question.sender);
        if let Some(bill) = payer.as_ref().and_then(|payer| self.bills.get(payer))
            && (bill.parts >= WORK_PARTS_PER_PAYER_MAX || bill.bytes + bytes > WORK_BYTES_PER_PAYER_MAX)
        {
            return ctx.reply(&question, Performative::Refuse, "there is too much to do for you already");
        }
        let (content, named) = (share.content(), share.named);
        let Some(at) = self.trade(share.kind, payer.as_ref()) else {
            return ctx.reply(&question, Performative::Refuse, "there are too many kinds of work to do already");
        };
        self.charge(payer.as_ref(), 1, bytes);
        let asker = question.sender;
        self.watch(ctx, asker);
        let Some(trade) = self.trades.get_mut(&at) else { return };
        let part = trade.work.add(ctx.now(), share.terms);
        trade.wanted.insert(part, Wanted { question, content, named, bytes, payer });
        trade.is_stirred = true;
        self.askers.entry(asker.name).or_default().insert((at, part));
    }

    /// There is more to do for this one.
    fn charge(&mut self, payer: Option<&Text>, parts: usize, bytes: usize) {
        self.bytes += bytes;
        if let Some(payer) = payer {
            let bill = self.bills.entry(payer.clone()).or_default();
            (bill.parts, bill.bytes) = (bill.parts + parts, bill.bytes + bytes);
        }
    }

    /// A part is done, or nobody wants it.
    fn settle(&mut self, wanted: &Wanted) {
        self.bytes -= wanted.bytes;
        let Some(payer) = &wanted.payer else { return };
        if let Some(bill) = self.bills.get_mut(payer) {
            (bill.parts, bill.bytes) = (bill.parts - 1, bill.bytes - wanted.bytes);
            if bill.parts == 0 {
                self.bills.remove(payer);
            }
        }
    }

    /// The number of the trade of this kind; `None` if there are too many others that have something to do: each message makes it look
    /// at all of them. So it is if there are too many that this payer wanted first.
    fn trade(&mut self, kind: Text, payer: Option<&Text>) -> Option<u64> {
        let known = self.trades.iter().find(|(_, trade)| trade.kind == kind).map(|(at, _)| *at);
        if known.is_some() {
            return known;
        }
        let is_payers = |trade: &&Trade| trade.payer.as_ref() == payer && trade.work.unfinished() > 0;
        if payer.is_some() && self.trades.values().filter(is_payers).count() >= WORK_KINDS_PER_PAYER_MAX {
            return None;
        }
        if self.trades.len() >= WORK_KINDS_MAX {
            let idle = self.trades.iter().find(|(_, trade)| trade.work.unfinished() == 0).map(|(at, _)| *at)?;
            self.trades.remove(&idle);
        }
        let at = self.trades_made;
        self.trades_made += 1;
        let (work, wanted, payer) = (Work::default(), FxHashMap::default(), payer.cloned());
        self.trades.insert(at, Trade { kind, work, wanted, is_stirred: true, payer });
        Some(at)
    }

    /// A device says what came of a part.
    fn hear_answer(&mut self, ctx: &mut Context<'_, '_>, trade: u64, part: Part, mut message: MessageBody) {
        let (device, performative) = (message.sender.name, message.performative);
        // Of its own accord it says nothing yet; and when it is gone, its end is told.
        if performative == Performative::Agree || device == sym::AMS {
            return;
        }
        let is_answer = matches!(performative, Performative::Inform | Performative::InformRef);
        // Who pays for what waits for others.
        let mut taken = None;
        let Some(trade) = self.trades.get_mut(&trade) else { return };
        let mut enrolled = locked(&self.roll.0);
        let fleet = &mut enrolled.fleet;
        let bytes = message.footprint(WORK_BYTES_MAX);
        if is_answer && self.bytes + bytes <= WORK_BYTES_MAX {
            let answer = match &mut message {
                MessageBody::Owned(owned) => std::mem::take(&mut owned.content),
                shared => shared.content.clone(),
            };
            match trade.work.handle_answer(ctx.now(), device, part, answer, fleet) {
                Verdict::Taken => {
                    if let Some(wanted) = trade.wanted.get_mut(&part) {
                        wanted.bytes += bytes;
                        taken = Some(wanted.payer.clone());
                    }
                }
                Verdict::Unasked => {
                    ctx.reply(&message, Performative::Refuse, "you were not asked that, or said something already");
                }
                Verdict::Done | Verdict::Late => {}
            }
        } else {
            trade.work.handle_failure(device, part, fleet);
        }
        trade.is_stirred = true;
        drop(enrolled);
        if let Some(payer) = taken {
            self.charge(payer.as_ref(), 0, bytes);
        }
        self.stir(device);
    }

    /// A device takes part no more: what it had is given to others.
    fn forget_device(&mut self, device: Symbol) {
        let mut enrolled = locked(&self.roll.0);
        if enrolled.fleet.leave(device) {
            enrolled.told.remove(&device);
            for trade in self.trades.values_mut() {
                trade.work.handle_gone(device, &mut enrolled.fleet);
                trade.is_stirred = true;
            }
        }
    }

    /// Nobody wants to know any more what this agent asked for.
    fn forget_asker(&mut self, asker: Symbol) {
        for (at, part) in self.askers.remove(&asker).into_iter().flatten() {
            let Some(trade) = self.trades.get_mut(&at) else { continue };
            trade.work.withdraw(part, &mut locked(&self.roll.0).fleet);
            trade.is_stirred = true;
            if let Some(wanted) = trade.wanted.remove(&part) {
                self.settle(&wanted);
            }
        }
    }

    fn lend(&mut self, ctx: &mut Context<'_, '_>) {
        let Self { roll, trades, .. } = self;
        let Enrolled { fleet, told } = &mut *locked(&roll.0);
        let (now, me) = (ctx.now(), ctx.aid());
        for (at, trade) in trades.iter_mut().filter(|(_, trade)| trade.is_stirred) {
            trade.is_stirred = false;
            let suits = |device: Symbol| told.get(&device).is_some_and(|told| told.kinds.contains(&trade.kind));
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
        let mut ended = Vec::new();
        for (at, trade) in &mut self.trades {
            while let Some((part, outcome)) = trade.work.poll_outcome() {
                let Some(wanted) = trade.wanted.remove(&part) else { continue };
                let asker = wanted.question.sender.name;
                if let Some(asked) = self.askers.get_mut(&asker) {
                    asked.remove(&(*at, part));
                }
                match outcome {
                    Ok(answered) => ctx.reply(&wanted.question, Performative::Inform, told(answered, wanted.named)),
                    Err(why) => ctx.reply(&wanted.question, Performative::Failure, why.to_string()),
                }
                ended.push(wanted);
            }
        }
        ended.iter().for_each(|wanted| self.settle(wanted));
    }

    /// Sees to it that it looks again when something is overdue. There is never a later alarm than one that is set already, so that there
    /// are few.
    fn set_alarm(&mut self, ctx: &mut Context<'_, '_>) {
        let (now, is_free) = (ctx.now(), locked(&self.roll.0).fleet.units_free() > 0);
        let due = |trade: &Trade| {
            let dawdling = trade.work.poll_dawdling(now).filter(|_| is_free);
            trade.work.poll_timeout().min(dawdling.unwrap_or(Time::NEVER))
        };
        let at = self.trades.values().map(due).min().unwrap_or(Time::NEVER);
        if at == Time::NEVER || self.alarms.first().is_some_and(|alarm| *alarm <= at) {
            return;
        }
        self.alarms.insert(at);
        ctx.after(at - now, |ctx| {
            let me = ctx.aid();
            ctx.tell(me, Performative::Inform, Value::Null);
        });
    }

    fn describe(&self) -> Value {
        let enrolled = locked(&self.roll.0);
        let fleet = &enrolled.fleet;
        let described = |device: &Device| description(device, fleet.taken(device.agent), enrolled.kinds(device.agent));
        let by_name: BTreeMap<&str, Value> =
            fleet.devices().map(|device| (device.agent.as_str(), described(device))).collect();
        Value::list(by_name.into_values().collect::<Vec<_>>())
    }
}

/// What whoever asked is told: the answer, with who gave it if he wants to know.
fn told(answered: Answered<Value>, named: bool) -> Value {
    let Answered { answer, by } = answered;
    if !named {
        return answer;
    }
    let by = Value::list(by.into_iter().map(|device| Value::from(device.as_str())).collect::<Vec<_>>());
    Value::term("done", [answer, by])
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

//! The agent `devices`: knows the devices that take part (browsers' tabs, volunteers), and distributes parts of work
//! among them. [`whimbrel_platform::devices`] does the accounting; docs/guide/devices.md describes the messages.

mod roll;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Text, Value, sym};
use whimbrel_platform::Time;
use whimbrel_platform::devices::{AnswerVerdict, Answered, Device, Part, Work};
use whimbrel_platform::limits::{
    WORK_BYTES_MAX, WORK_BYTES_PER_PAYER_MAX, WORK_KINDS_MAX, WORK_KINDS_PER_PAYER_MAX, WORK_PARTS_EACH_MAX,
    WORK_PARTS_MAX, WORK_PARTS_PER_PAYER_MAX,
};

use self::roll::{DeviceDetails, Enrolled};
pub use self::roll::{DeviceSeen, Roll};
use self::words::{DeviceOffer, ShareRequest, description};
use crate::agent::Agent;
use crate::context::Context;
use crate::sync::locked;

/// Name of the agent.
pub const DEVICES: &str = "devices";

/// Functor of the ticket that identifies a part in messages to devices, by the numbers of its kind and itself.
const TICKET: &str = "part";

/// Request for a part of work.
struct WantedPart {
    question: MessageBody,
    content: Value,
    named: bool,
    /// Bytes of the question, and of answers that wait for others.
    bytes: usize,
    /// Account that pays for the part, if it is not the asker's.
    payer: Option<Text>,
}

/// Amount of work in progress for one account.
#[derive(Default)]
struct Bill {
    parts: usize,
    bytes: usize,
}

/// All work of one kind.
struct Trade {
    kind: Text,
    work: Work<Value>,
    wanted: FxHashMap<Part, WantedPart>,
    /// True if anything happened since no further part could be lent.
    is_stirred: bool,
    /// Account that requested this kind first.
    payer: Option<Text>,
}

/// Agent that distributes work among devices; see the module.
#[derive(Default)]
pub struct Devices {
    roll: Roll,
    /// Kinds of work by number, the newest last.
    trades: BTreeMap<u64, Trade>,
    trades_made: u64,
    /// Requested parts by agent, so that work for agents that are gone is dropped.
    askers: FxHashMap<Symbol, FxHashSet<(u64, Part)>>,
    bytes: usize,
    /// Amounts of work by paying account.
    bills: FxHashMap<Text, Bill>,
    /// Agents whose ends are monitored.
    watched: FxHashSet<Symbol>,
    /// Times of the agent's pending wake-ups.
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
    /// Creates the agent with a shared roll, so that its devices are visible to holders of the roll.
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
            // A device that is slow now was not when it was checked last.
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
                // A failure of one of its own answers, and the like.
                Performative::Failure | Performative::NotUnderstood | Performative::Refuse => {}
                _ => self.hear_request(ctx, message),
            }
        }
    }

    /// Handles a device that joins, or whose condition changed.
    fn hear_device(&mut self, ctx: &mut Context<'_, '_>, message: &AclMessage) {
        let device = message.sender;
        let joined =
            DeviceOffer::read(device.name, &message.content).and_then(|DeviceOffer { device, kinds, agents }| {
                let mut enrolled = locked(&self.roll.0);
                enrolled.fleet.join(device).map_err(|error| error.to_string())?;
                enrolled.told.insert(device.agent, DeviceDetails { kinds, agents });
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

    /// Monitors an agent's end.
    fn watch(&mut self, ctx: &mut Context<'_, '_>, agent: Aid) {
        if self.watched.insert(agent.name) {
            ctx.monitor(agent);
        }
    }

    /// Notes that a device can do more than before.
    fn stir(&mut self, device: Symbol) {
        let enrolled = locked(&self.roll.0);
        let kinds = enrolled.kinds(device);
        for trade in self.trades.values_mut() {
            trade.is_stirred |= kinds.contains(&trade.kind);
        }
    }

    /// Handles a request for a part of work.
    fn hear_request(&mut self, ctx: &mut Context<'_, '_>, question: MessageBody) {
        let share = match ShareRequest::read(&question.content) {
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
        trade.wanted.insert(part, WantedPart { question, content, named, bytes, payer });
        trade.is_stirred = true;
        self.askers.entry(asker.name).or_default().insert((at, part));
    }

    /// Adds work to an account.
    fn charge(&mut self, payer: Option<&Text>, parts: usize, bytes: usize) {
        self.bytes += bytes;
        if let Some(payer) = payer {
            let bill = self.bills.entry(payer.clone()).or_default();
            (bill.parts, bill.bytes) = (bill.parts + parts, bill.bytes + bytes);
        }
    }

    /// Removes a part from its account that is done or not wanted any more.
    fn settle(&mut self, wanted: &WantedPart) {
        self.bytes -= wanted.bytes;
        let Some(payer) = &wanted.payer else { return };
        if let Some(bill) = self.bills.get_mut(payer) {
            (bill.parts, bill.bytes) = (bill.parts - 1, bill.bytes - wanted.bytes);
            if bill.parts == 0 {
                self.bills.remove(payer);
            }
        }
    }

    /// Returns the number of the trade of this kind. Returns `None` if too many other trades are active, in total or
    /// of this payer's, because each message makes the agent check all of them.
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

    /// Handles a device's answer about a part.
    fn hear_answer(&mut self, ctx: &mut Context<'_, '_>, trade: u64, part: Part, mut message: MessageBody) {
        let (device, performative) = (message.sender.name, message.performative);
        // An agreement says nothing yet. The AMS reports the end of a device separately.
        if performative == Performative::Agree || device == sym::AMS {
            return;
        }
        let is_answer = matches!(performative, Performative::Inform | Performative::InformRef);
        // Answers that wait for others count against the part's account.
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
                AnswerVerdict::Taken => {
                    if let Some(wanted) = trade.wanted.get_mut(&part) {
                        wanted.bytes += bytes;
                        taken = Some(wanted.payer.clone());
                    }
                }
                AnswerVerdict::Unasked => {
                    ctx.reply(&message, Performative::Refuse, "you were not asked that, or said something already");
                }
                AnswerVerdict::Done | AnswerVerdict::Late => {}
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

    /// Forgets a device that takes part no more; its parts go to others.
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

    /// Drops all parts that this agent requested.
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

    /// Sets a wake-up for the next overdue part. No alarm is set later than a pending one, so there are few.
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

/// Returns the answer to the asker, with the devices that gave it if requested.
fn told(answered: Answered<Value>, named: bool) -> Value {
    let Answered { answer, by } = answered;
    if !named {
        return answer;
    }
    let by = Value::list(by.into_iter().map(|device| Value::from(device.as_str())).collect::<Vec<_>>());
    Value::term("done", [answer, by])
}

/// Returns the agent that ended, if this is a notification of the AMS.
fn gone(message: &AclMessage) -> Option<Symbol> {
    let is_news =
        message.sender.name == sym::AMS && message.content.functor().is_some_and(|name| name.as_str() == "ended");
    let name = message.content.args().first().filter(|_| is_news)?;
    name.as_str().map(Symbol::new)
}

/// Returns the trade and part that a message is about.
fn ticket_of(message: &AclMessage) -> Option<(u64, Part)> {
    let (trade, part) =
        message.extras().in_reply_to.as_deref()?.strip_prefix(TICKET)?.strip_prefix('-')?.split_once('-')?;
    Some((trade.parse().ok()?, part.parse().ok()?))
}

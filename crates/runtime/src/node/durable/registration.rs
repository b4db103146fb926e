//! Registration of a durable agent: the platform's knowledge of it beside its mind. It holds the agent's DF entry and
//! subscriptions, its topics and groups, and whether it is suspended. Each change is persisted with the step that
//! made it.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::ams::{AgentState, LifecycleStep};
use whimbrel_platform::df::{Df, DfDescription, Subscription};
use whimbrel_platform::durable::{DfSubscription, Registration};
use whimbrel_platform::services::LogLevel;

use crate::node::Node;

impl Node {
    /// Returns the current registration of an agent that had sent messages up to the number `last`.
    pub fn standing_of(&self, agent: Symbol, last: u64) -> Registration {
        let aid = Aid::local(agent);
        let (now, wall_ms) = (self.now(), self.clock.wall_ms());
        let written = |made: &Subscription| DfSubscription::of(&made.template, &made.form).ok();
        let in_df = |df: &mut Df| {
            let expires_ms = df.expires(aid).map(|at| wall_ms.saturating_add((at - now).as_millis() as u64));
            let entry = df.description_of(aid).cloned();
            (entry, expires_ms, df.subscriptions_of(aid).filter_map(written).collect())
        };
        let (entry, expires_ms, subscriptions) = self.with_df(in_df);
        let places = self.with_topics(|topics| topics.places_of(agent));
        let state = self.with_ams(|ams| ams.state(aid)).unwrap_or(AgentState::Active);
        Registration { agent, last, entry, expires_ms, subscriptions, places, state }.writable()
    }

    /// Restores the registrations of recovered agents, which exist and have not begun yet. All entries come before
    /// all subscriptions: a subscriber is notified of every entry, because notifications on their way to it were
    /// lost.
    pub fn restore_standings(&self, mut standings: Vec<Registration>) {
        if standings.is_empty() {
            return;
        }
        let (now, wall_ms) = (self.now(), self.clock.wall_ms());
        for standing in &mut standings {
            let Some(entry) = standing.entry.take() else { continue };
            match on_lease(entry, standing.expires_ms, wall_ms) {
                // The previous node had announced this entry.
                Some(entry) => self.note_lost(standing.agent, self.enter_service(entry)),
                // Its lease ended while the agent was on no node, so other nodes do not know.
                None => {
                    let _ = self.with_df(|df| df.deregister(Aid::local(standing.agent), now));
                }
            }
        }
        standings.into_iter().for_each(|standing| self.restore_standing(standing, now));
        self.wake_df();
    }

    /// Completes the registration of an agent that came from another node with what only that node knew: when the
    /// entry's lease ends, and the agent's subscriptions. The agent has been notified of every entry already.
    pub fn take_over_entry(&self, standing: Registration) {
        let Registration { agent, entry, expires_ms, subscriptions, .. } = standing;
        if let (Some(entry), Some(_)) = (entry, expires_ms)
            && let Some(entry) = on_lease(entry, expires_ms, self.clock.wall_ms())
        {
            self.note_lost(agent, self.enter_service(entry));
        }
        let now = self.now();
        for subscription in subscriptions {
            match subscription.form() {
                Ok(form) => {
                    let again = self.with_df(|df| df.resume(Aid::local(agent), subscription.template, form, now));
                    self.note_lost(agent, again);
                }
                Err(error) => self.note_lost(agent, Err::<(), _>(error)),
            }
        }
    }

    /// Makes an agent join the topics and groups that it was in.
    pub fn join_places(&self, agent: Symbol, places: Vec<Symbol>) {
        for place in places {
            self.note_lost(agent, self.with_topics(|topics| topics.join(agent, place, false)));
        }
    }

    fn restore_standing(&self, standing: Registration, now: Time) {
        let Registration { agent, subscriptions, places, state, .. } = standing;
        let aid = Aid::local(agent);
        self.join_places(agent, places);
        for subscription in subscriptions {
            match subscription.form() {
                Ok(form) => {
                    self.note_lost(agent, self.with_df(|df| df.subscribe(aid, subscription.template, form, now)));
                }
                Err(error) => self.note_lost(agent, Err::<(), _>(error)),
            }
        }
        let step = match state {
            AgentState::Suspended => LifecycleStep::Suspend,
            AgentState::Waiting => LifecycleStep::Wait,
            _ => return,
        };
        self.note_lost(agent, self.with_ams(|ams| ams.step(aid, step)));
    }

    pub fn note_lost<T>(&self, agent: Symbol, outcome: Result<T, impl std::fmt::Display>) {
        if let Err(error) = outcome {
            self.output.log(Aid::local(agent), LogLevel::Warning, &format!("not as it was: {error}"));
        }
    }
}

/// Limits an entry to the rest of its lease, which runs while the agent is on no node. Returns `None` if it ended.
fn on_lease(entry: DfDescription, expires_ms: Option<u64>, wall_ms: u64) -> Option<DfDescription> {
    let Some(expires_ms) = expires_ms else { return Some(entry) };
    let left = expires_ms.checked_sub(wall_ms).filter(|left| *left > 0)?;
    Some(DfDescription { lease_ms: Some(left), ..entry })
}

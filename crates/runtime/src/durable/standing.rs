//! What the platform knows of a durable agent beside its mind: what it offers in the DF and wants to be told of, which
//! topics and groups it is in, whether it is suspended. Written with the step in which it changes.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::ams::{AgentState, LifecycleStep};
use whimbrel_platform::df::{Df, DfDescription, Subscription};
use whimbrel_platform::durable::{DfSubscription, Standing};
use whimbrel_platform::services::LogLevel;

use crate::node::Node;

impl Node {
    /// What the platform knows of an agent now that had sent messages up to the number `last`.
    pub fn standing_of(&self, agent: Symbol, last: u64) -> Standing {
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
        Standing { agent, last, entry, expires_ms, subscriptions, places, state }.writable()
    }

    /// Makes known what was known of agents that go on, which exist and did not begin yet. All entries come before all
    /// subscriptions: who wants to be told of others is told of all there are, for what was on its way to it is lost.
    pub fn restore_standings(&self, mut standings: Vec<Standing>) {
        if standings.is_empty() {
            return;
        }
        let (now, wall_ms) = (self.now(), self.clock.wall_ms());
        for standing in &mut standings {
            let Some(entry) = standing.entry.take() else { continue };
            match on_lease(entry, standing.expires_ms, wall_ms) {
                // Where it was before, that node told of it.
                Some(entry) => self.note_lost(standing.agent, self.enter_service(entry)),
                // Its lease ended while it was nowhere: other nodes do not know.
                None => {
                    let _ = self.with_df(|df| df.deregister(Aid::local(standing.agent), now));
                }
            }
        }
        standings.into_iter().for_each(|standing| self.restore_standing(standing, now));
        self.wake_df();
    }

    /// Makes known what was known of an agent that came from another node, which is known here already but for what that node alone
    /// had: when its entry's lease ends, and what it wants to be told of. It was told of all there is.
    pub fn take_over_entry(&self, standing: Standing) {
        let Standing { agent, entry, expires_ms, subscriptions, .. } = standing;
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

    /// Has an agent be in the topics and groups that it was in.
    pub fn join_places(&self, agent: Symbol, places: Vec<Symbol>) {
        for place in places {
            self.note_lost(agent, self.with_topics(|topics| topics.join(agent, place, false)));
        }
    }

    fn restore_standing(&self, standing: Standing, now: Time) {
        let Standing { agent, subscriptions, places, state, .. } = standing;
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

/// An entry with what is left of its lease, which goes on while nobody is there. `None` if it ended.
fn on_lease(entry: DfDescription, expires_ms: Option<u64>, wall_ms: u64) -> Option<DfDescription> {
    let Some(expires_ms) = expires_ms else { return Some(entry) };
    let left = expires_ms.checked_sub(wall_ms).filter(|left| *left > 0)?;
    Some(DfDescription { lease_ms: Some(left), ..entry })
}

//! Services of the platform for agents, provided by this node.

use std::sync::Arc;

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value, sym};
use whimbrel_platform::advice::{AdviceCall, DocumentJob, JobError};
use whimbrel_platform::ams::{AgentKind, Ams};
use whimbrel_platform::audit::{Act, RefusalReason, Refused};
use whimbrel_platform::df::{Df, RegisterError, ServiceDescription};
use whimbrel_platform::environment::NodeEnvironment;
use whimbrel_platform::foreign_actions::SharedForeignActions;
use whimbrel_platform::policy::{Action, Policy, Principal};
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel, OfferError, OffloadedWork};
use whimbrel_platform::storage::NodeStorage;
use whimbrel_platform::topics::TopicError;
use whimbrel_platform::{Directory, Services, Time};

use crate::durable::{WithheldEffect, WithheldEffects};
use crate::node::Node;
use crate::node::introduction::Introduction;
use crate::pool::Pool;
use crate::shard_command::AgentChange;
use crate::sync::atomic::Ordering;

/// Node as the agents of one shard see it: agents that they create belong to that shard.
#[derive(Clone)]
pub(crate) struct NodeServices {
    pub node: Arc<Node>,
    pub shard: ShardIndex,
    /// True for agents of this node in their turns. Programs, in contrast, may create in any agent's name.
    pub in_turn: bool,
    /// Place for the effects of durable agents in their turns; `None` if effects are visible at once.
    pub withheld: Option<Arc<WithheldEffects>>,
}

impl Services for NodeServices {
    fn platform(&self) -> Symbol {
        self.node.name
    }

    fn print(&self, agent: Aid, text: &str) {
        if !self.keep_back(|| WithheldEffect::Print(agent, text.to_owned())) {
            self.node.print(agent, text);
        }
    }

    fn print_bare(&self, agent: Aid, text: &str) {
        if !self.keep_back(|| WithheldEffect::PrintBare(agent, text.to_owned())) {
            self.node.print_bare(agent, text);
        }
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        if !self.keep_back(|| WithheldEffect::Log(agent, level, text.to_owned())) {
            self.node.log(agent, level, text);
        }
    }

    fn once_written(&self, then: Box<dyn FnOnce() + Send>) {
        let mut then = Some(then);
        let kept = self.keep_back(|| WithheldEffect::Then(then.take().unwrap_or_else(|| Box::new(|| ()))));
        if let Some(then) = then.filter(|_| !kept) {
            then();
        }
    }

    fn wall_clock_ms(&self) -> u64 {
        self.node.clock.wall_ms()
    }

    fn now(&self) -> Time {
        self.node.clock.now()
    }

    fn random(&self) -> u64 {
        self.node.random()
    }

    fn agents(&self) -> Vec<Aid> {
        self.node.with_ams(|ams| {
            let elsewhere = ams.agents_elsewhere().into_iter().filter(|(_, _, kind)| *kind != AgentKind::Service);
            ams.agents().chain(elsewhere.map(|(name, ..)| Aid::local(name.symbol()))).collect()
        })
    }

    fn exists(&self, aid: Aid) -> bool {
        // While the platform ends, an agent that has ended was there a moment ago: no sender should conclude anything
        // from that.
        self.node.knows(aid) || self.node.may_be_abroad(aid) || self.node.stopping.load(Ordering::Relaxed)
    }

    fn may_teach(&self, teacher: Aid, pupil: Aid) -> bool {
        teacher.name == pupil.name || self.node.permits_teaching(teacher, pupil)
    }

    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError> {
        let CreateAgent { name, unique, owner, source } = request;
        let in_turn = self.in_turn && owner.is_some();
        if let Some(owner) = owner.filter(|owner| in_turn && self.node.routes.look_up(owner.name).is_unknown()) {
            return Err(CreateError::CreatorEnded(owner.name));
        }
        if !self.node.permits_creation(owner, name, in_turn) {
            return Err(CreateError::Forbidden(name));
        }
        let withheld = self.withheld.as_deref();
        match source {
            AgentSource::Body(body) => {
                self.node.check_kind(name, &*body)?;
                let who = Introduction { unique, owner, in_turn, ..Introduction::new(name, AgentKind::Native) };
                self.node.create_somewhere(self.shard, who, withheld, |_| Ok(body))
            }
            AgentSource::Program { path, options } => {
                let who =
                    Introduction { unique, owner, in_turn, ..Introduction::new(name, self.node.loader.kind(&path)) };
                self.node.create_somewhere(self.shard, who, withheld, |name| {
                    let loaded = self.node.loader.load(name, &path, &options);
                    loaded.map_err(|reason| CreateError::BadProgram { name, reason })
                })
            }
        }
    }

    fn kill(&self, agent: Aid) -> bool {
        self.node.kill(agent.name, None)
    }

    fn is_ending(&self, agent: Aid) -> bool {
        self.node.stopping.load(Ordering::Relaxed) || !self.node.knows(agent)
    }

    fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        self.node.set_lifetime(agent, lifetime)
    }

    fn recall(&self, asker: Aid, agent: Aid) -> bool {
        if !self.node.permits(self.node.principal(asker), Action::Move, agent.name.as_str()) || !self.exists(agent) {
            return false;
        }
        let (node, name) = (Arc::clone(&self.node), agent.name);
        self.node.recall(
            agent.name,
            Box::new(move |outcome| {
                let content = match outcome {
                    Ok(()) => Value::term("recalled", [Value::atom(name)]),
                    Err(why) => {
                        let why = [Value::atom(name), Value::atom(why.code()), Value::from(why.to_string())];
                        Value::term("not_recalled", why)
                    }
                };
                let news = AclMessage::new(Performative::Inform, Aid::local(sym::AMS), asker, content);
                node.post(0, Box::new(news));
            }),
        );
        true
    }

    fn stop(&self, delay_ms: u64, code: i32) {
        if !self.keep_back(|| WithheldEffect::Stop { delay_ms, code }) {
            self.node.end_all(delay_ms, code);
        }
    }

    fn df_register(&self, agent: Aid, service: &str, kind: &str) -> Result<(), OfferError> {
        let now = self.now();
        self.register(agent, service, |df| df.add_service(agent, service, kind, now))
    }

    fn df_offer(&self, agent: Aid, service: ServiceDescription) -> Result<(), OfferError> {
        let (name, now) = (service.name, self.now());
        self.register(agent, name.as_str(), |df| df.offer_service(agent, service, now))
    }

    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) -> bool {
        let now = self.now();
        let offered = self.node.with_df(|df| df.remove_service(agent, service, kind, now));
        self.keep_standing();
        self.node.wake_df();
        offered
    }

    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid> {
        let now = self.now();
        self.node.with_df(|df| df.providers(service, kind, now))
    }

    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str) {
        let now = self.now();
        let subscribed = self.node.with_df(|df| df.subscribe_providers(agent, service, kind, now));
        self.note_failure(agent, &subscribed);
        self.keep_standing();
        self.node.wake_df();
    }

    fn join(&self, agent: Aid, to: Aid) -> Result<(), TopicError> {
        self.node.join(agent, to).inspect(|()| self.keep_standing())
    }

    fn leave(&self, agent: Aid, from: Aid) -> bool {
        let left = self.node.with_topics(|topics| topics.leave(agent.name, from.name));
        if left {
            self.keep_standing();
        }
        left
    }

    fn members(&self, group: Aid) -> Vec<Aid> {
        self.node.with_topics(|topics| topics.members(group.name)).into_iter().map(Aid::local).collect()
    }

    fn monitor(&self, watcher: Aid, agent: Aid) -> bool {
        if let Some(news) =
            self.node.monitors.watch(&self.node.routes, watcher, agent.name, self.node.is_away(agent.name))
        {
            self.node.post(self.shard, Box::new(news));
        }
        true
    }

    fn unmonitor(&self, watcher: Aid, agent: Aid) -> bool {
        self.node.monitors.unwatch(watcher, agent.name)
    }

    fn offload(&self, work: OffloadedWork) -> Result<(), OffloadedWork> {
        self.offload_to(&self.node.pool, work);
        Ok(())
    }

    fn advise(
        &self,
        agent: Aid,
        node: Symbol,
        job: Result<DocumentJob, JobError>,
        tell: AdviceCall,
    ) -> Option<AclMessage> {
        let asked = Arc::clone(&self.node);
        // Advice waits for other nodes, so it runs on threads of its own: other work must not wait for them.
        self.offload_to(&self.node.advisor.pool, Box::new(move || tell(asked.advise(Some(agent), node, job))));
        None
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn policy(&self) -> &Policy {
        &self.node.guard.policy
    }

    fn environment(&self, name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        self.node.environments.named(name)
    }

    fn foreign_actions(&self) -> Option<SharedForeignActions> {
        self.node.loader.foreign_actions()
    }

    fn storage(&self) -> Option<&NodeStorage> {
        Some(&self.node.storage)
    }

    fn node(&self) -> Symbol {
        self.node.called()
    }

    fn nodes(&self) -> Vec<Symbol> {
        let Some(links) = self.node.linked.links() else { return Vec::new() };
        let mut nodes: Vec<Symbol> = links.nodes().into_iter().map(|node| self.node.name_of(node)).collect();
        nodes.push(self.node.my_name());
        nodes.sort_unstable_by_key(|node| node.as_str());
        nodes
    }

    fn principal(&self, agent: Aid) -> Principal {
        self.node.principal(agent)
    }

    fn payer(&self, agent: Aid) -> Option<Text> {
        self.node.payer(agent)
    }

    fn note_standing(&self, agent: Aid) {
        if self.node.scribe.is_some() {
            self.node.change(agent.name, AgentChange::NoteStanding);
        }
    }

    fn audit(&self, refused: &Refused<'_>) {
        // A quota that refuses an agent something in its turn ends the agent.
        if let (true, RefusalReason::Quota, Some(who)) = (self.in_turn, refused.reason, refused.who.name()) {
            self.node.health.note_quota_end(who, refused.detail, self.node.now());
        }
        self.node.audit(refused);
    }

    fn note_act(&self, act: &Act<'_>) {
        self.node.note_act(act);
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        self.node.loader.read_source(path)
    }

    fn list_files(&self, folder: &str) -> Vec<String> {
        self.node.loader.list_files(folder)
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        self.node.loader.write_file(path, text)
    }
}

impl Directory for NodeServices {
    fn ams(&self, work: &mut dyn FnMut(&mut Ams)) {
        self.node.with_ams(work);
    }

    fn df(&self, work: &mut dyn FnMut(&mut Df)) {
        self.node.with_df(work);
    }
}

impl NodeServices {
    /// Runs work on one of these threads, and sends its result.
    fn offload_to(&self, pool: &Arc<Pool>, work: OffloadedWork) {
        let (node, shard) = (Arc::clone(&self.node), self.shard);
        self.node.activity.begin();
        pool.run(Box::new(move || {
            node.post(shard, Box::new(work()));
            node.activity.end();
        }));
    }

    /// Withholds an effect of a durable agent until its step is persisted. Returns false if the agent is not durable.
    fn keep_back(&self, effect: impl FnOnce() -> WithheldEffect) -> bool {
        match &self.withheld {
            Some(withheld) => {
                withheld.push(effect());
                true
            }
            None => false,
        }
    }

    /// Records the registration of the agent in turn with its step, if the agent is durable.
    fn keep_standing(&self) {
        self.keep_back(|| WithheldEffect::Registration);
    }

    /// Registers a service, if the policy lets the agent.
    fn register(
        &self,
        agent: Aid,
        service: &str,
        work: impl FnOnce(&mut Df) -> Result<(), RegisterError>,
    ) -> Result<(), OfferError> {
        if self.node.guard.policy.restricts_agents(Action::Register)
            && !self.node.permits(self.node.principal(agent), Action::Register, service)
        {
            let refused = Err(OfferError::Forbidden(service.to_owned()));
            self.note_failure(agent, &refused);
            return refused;
        }
        let registered = self.node.with_df(work);
        self.note_failure(agent, &registered);
        self.keep_standing();
        self.node.wake_df();
        Ok(registered?)
    }

    fn note_failure(&self, agent: Aid, outcome: &Result<(), impl std::fmt::Display>) {
        if let Err(error) = outcome {
            self.log(agent, LogLevel::Warning, &error.to_string());
        }
    }
}

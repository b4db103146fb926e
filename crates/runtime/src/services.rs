//! What agents ask of the platform, answered by this node.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel};
use whimbrel_platform::{Services, Time};

use crate::node::{Introduction, Node};
use crate::shard::Slot;
use crate::sync::locked;

/// The node as the agents of one shard see it: what they create is created in that shard.
#[derive(Clone)]
pub(crate) struct NodeServices {
    pub node: Arc<Node>,
    pub shard: ShardIndex,
}

impl Services for NodeServices {
    fn platform(&self) -> Symbol {
        self.node.name
    }

    fn print(&self, agent: Aid, text: &str) {
        self.node.output.print(agent, text);
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        self.node.output.log(agent, level, text);
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
        self.node.with_ams(|ams| ams.agents().collect())
    }

    fn exists(&self, aid: Aid) -> bool {
        self.node.knows(aid)
    }

    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError> {
        let CreateAgent { name, unique, owner, source } = request;
        match source {
            AgentSource::Body(body) => {
                let who = Introduction { name, unique, owner, kind: AgentKind::Native };
                self.node.create(self.shard, who, |_| Ok(Box::new(Slot::new(body))))
            }
            AgentSource::Program { path, options } => {
                let who = Introduction { name, unique, owner, kind: AgentKind::AgentSpeak };
                self.node.create(self.shard, who, |name| {
                    let loaded = self.node.loader.load(name, &path, &options);
                    match loaded {
                        Ok(body) => Ok(Box::new(Slot::new(body))),
                        Err(reason) => Err(CreateError::BadProgram { name, reason }),
                    }
                })
            }
        }
    }

    fn kill(&self, agent: Aid) -> bool {
        self.node.with_ams(|ams| ams.kill(agent).is_ok())
    }

    fn stop(&self, delay_ms: u64, code: i32) {
        self.node.ending.ask(Duration::from_millis(delay_ms), code);
    }

    fn df_register(&self, agent: Aid, service: &str, kind: &str) {
        let told = locked(&self.node.yellow_pages).register(agent, service, kind);
        told.into_iter().for_each(|news| self.node.post(self.shard, Box::new(news)));
    }

    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) {
        locked(&self.node.yellow_pages).deregister(agent, service, kind);
    }

    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid> {
        locked(&self.node.yellow_pages).search(service, kind)
    }

    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str) {
        let told = locked(&self.node.yellow_pages).subscribe(agent, service, kind);
        told.into_iter().for_each(|news| self.node.post(self.shard, Box::new(news)));
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        self.node.loader.read_source(path)
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        self.node.loader.write_file(path, text)
    }
}

//! Node for the transcripts with moves: it has an agent that goes where it is told, and a warden that wants agents
//! back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_platform::durable::Origin;
use whimbrel_platform::mobility::{HopError, Wish};
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::{CodeName, KeptAgents, SessionHost, SessionMobility};
use whimbrel_platform::{AgentBody, Next, Time, Turn};
use whimbrel_testkit::{Simulation, answering};

const CODE: &str = "asl:0000000000000000000000000000000000000000000000000000000000000000/scout.asl";

/// Host on which the scout can continue, once its code has come.
#[derive(Default)]
pub struct Movers {
    kept_agents: Mutex<Weak<KeptAgents>>,
    has_code: AtomicBool,
    /// Agents that the warden wants.
    wanted: Mutex<Vec<String>>,
}

impl Movers {
    /// Starts the host with its agents.
    pub fn begin(sim: &mut Simulation) -> (Arc<Self>, Arc<KeptAgents>) {
        let movers = Arc::<Self>::default();
        let kept_agents = Arc::<KeptAgents>::default();
        kept_agents.attach(&(Arc::<Self>::clone(&movers) as Arc<dyn SessionHost>));
        *movers.kept_agents.lock().unwrap() = Arc::downgrade(&kept_agents);
        sim.spawn("scout", Box::new(Scout { state: vec![7, 8, 9], kept_agents: Arc::clone(&kept_agents), next: None }));
        let warden = Arc::clone(&movers);
        let wants = answering(move |message, _| {
            if let Value::Str(name) = &message.content {
                warden.wanted.lock().unwrap().push(name.to_string());
            }
        });
        sim.spawn("warden", wants);
        (movers, kept_agents)
    }

    /// Asks for the agents that the warden wants. True if there was one.
    pub fn ask(&self, sim: &mut Simulation) -> bool {
        let wanted = std::mem::take(&mut *self.wanted.lock().unwrap());
        let now = sim.now();
        for name in &wanted {
            let body = sim.body(name).expect("it is there");
            assert!(body.yields(Wish::new("n1".into(), Box::new(|_| ())), now).is_none());
        }
        !wanted.is_empty()
    }

    pub fn admit(&self) {
        self.has_code.store(true, Ordering::Relaxed);
    }

    /// Code of the scout.
    pub fn code() -> Arc<[u8]> {
        Arc::from(b"code".as_slice())
    }
}

impl SessionHost for Movers {
    fn platform(&self) -> Symbol {
        "home".into()
    }
    fn node(&self) -> Symbol {
        "n1".into()
    }
    fn now(&self) -> Time {
        Time::ZERO
    }
    fn lodge(
        &self,
        name: Symbol,
        _body: Box<dyn AgentBody>,
        _is_home: bool,
        _near: Option<ShardIndex>,
    ) -> Result<Aid, CreateError> {
        Err(CreateError::NameTaken(name))
    }
    fn wake(&self, _agent: Aid) {}
    fn mobility(&self) -> Option<&dyn SessionMobility> {
        Some(self)
    }
}

impl SessionMobility for Movers {
    fn has_code(&self, _name: Symbol, _origin: &Origin) -> Option<bool> {
        Some(self.has_code.load(Ordering::Relaxed))
    }
    fn restore(&self, _: Symbol, _: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        let kept_agents = self.kept_agents.lock().unwrap().upgrade().ok_or("it is gone")?;
        Ok(Box::new(Scout { state: state.to_vec(), kept_agents, next: None }))
    }
    fn may_move(&self, _name: Symbol, _object: &str) -> bool {
        true
    }
    fn is_here(&self, to: Symbol) -> Result<bool, HopError> {
        if to == Symbol::new("n1") { Ok(true) } else { Err(HopError::NoSuchNode(to)) }
    }
    fn life(&self, _name: Symbol) -> Option<u32> {
        Some(1)
    }
}

struct Scout {
    state: Vec<u8>,
    kept_agents: Arc<KeptAgents>,
    next: Option<Box<dyn AgentBody>>,
}

impl AgentBody for Scout {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let Some(message) = turn.mailbox.take() else { return Next::Wait };
        let Value::Str(to) = &message.content else { return Next::Ready };
        let origin = CODE.parse::<CodeName>().unwrap().origin().unwrap();
        let invited = self.kept_agents.invite("scout".into(), Symbol::new(to), origin, self.state.clone(), None);
        self.next = Some(invited.map_err(|(why, _)| why).expect("it can be offered"));
        Next::Activate
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        self.next.take().ok_or_else(|| "it is here".to_owned())
    }
}

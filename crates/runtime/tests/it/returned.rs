//! Agents that a client gives back: ownership claims in their states are discarded.

use std::sync::{Arc, Mutex};

use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::capabilities::Owned;
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::{AgentBody, Next, OfferedAgent, Time, Turn};
use whimbrel_runtime::{Platform, ProgramLoader};

/// Owners that bodies claimed when they were admitted, if any.
type Claims = Arc<Mutex<Vec<Option<String>>>>;

/// Body whose state is the name of its owner.
struct OwnedBody {
    claim: Option<String>,
    admitted: Claims,
}

impl AgentBody for OwnedBody {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }

    fn owned(&mut self) -> Option<&mut dyn Owned> {
        Some(self)
    }
}

impl Owned for OwnedBody {
    fn admit(&mut self, _arrival: &OfferedAgent<'_>) -> Result<(), String> {
        self.admitted.lock().unwrap().push(self.claim.clone());
        Ok(())
    }

    fn disown(&mut self) {
        self.claim = None;
    }
}

/// Loader that makes claimants, each in as many nested boxes as its path says.
struct Claimants(Claims);

impl ProgramLoader for Claimants {
    fn load(&self, _name: Symbol, path: &str, _: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        Err(format!("there is no {path}"))
    }

    fn restore(&self, _: Symbol, origin: &Origin, states: &[State], _: Time) -> Result<Box<dyn AgentBody>, String> {
        let (Origin::Program { path: boxes, .. }, [State::Whole(state)]) = (origin, states) else {
            return Err("no state".into());
        };
        let claim = Some(String::from_utf8_lossy(state).into_owned());
        let mut body: Box<dyn AgentBody> = Box::new(OwnedBody { claim, admitted: Arc::clone(&self.0) });
        for _ in 0..boxes.len() {
            body = Box::new(body);
        }
        Ok(body)
    }
}

#[test]
fn returned_agent_claims_no_owner() {
    for boxes in ["", "b", "bb"] {
        let admitted = Claims::default();
        let platform = Platform::builder().loader(Claimants(Arc::clone(&admitted))).build();
        let origin = Origin::Program { path: boxes.to_owned(), fingerprint: 1, code: None };
        let host = platform.host();
        host.mobility().unwrap().restore("guest".into(), &origin, b"agent:warden").unwrap();
        assert_eq!(*admitted.lock().unwrap(), [None], "in {} boxes more", boxes.len());
    }
}

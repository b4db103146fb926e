//! The communicative acts (FIPA00037), and others by name, among them KQML's.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Symbol;

macro_rules! performatives {
    ($($name:ident = $text:literal : $what:literal),* $(,)?) => {
        /// Kind of a message: one of the 22 communicative acts of FIPA00037, or another by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(into = "Symbol", from = "Symbol")]
        pub enum Performative {
            $(#[doc = $what] $name,)*
            /// A performative outside FIPA00037, such as KQML's `tell` (AgentSpeak) or one users made.
            Other(Symbol),
        }

        impl Performative {
            /// All 22 performatives of FIPA00037, in its order.
            pub const FIPA: [Performative; 22] = [$(Performative::$name),*];

            /// Returns the name as FIPA00037 writes it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* Self::Other(name) => name.as_str() }
            }
        }

        impl std::str::FromStr for Performative {
            type Err = UnknownPerformative;
            /// Reads one of the 22 names of FIPA00037, in any case.
            fn from_str(text: &str) -> Result<Self, UnknownPerformative> {
                match text.to_ascii_lowercase().as_str() {
                    $($text => Ok(Self::$name),)*
                    _ => Err(UnknownPerformative(text.to_owned())),
                }
            }
        }
    };
}

performatives! {
    AcceptProposal = "accept-proposal": "Accepts a proposal made before to perform an action.",
    Agree = "agree": "Agrees to perform an action, possibly in the future.",
    Cancel = "cancel": "No longer wants an action performed that was requested before.",
    Cfp = "cfp": "Calls for proposals to perform an action.",
    Confirm = "confirm": "Tells a receiver known to be uncertain that a proposition is true.",
    Disconfirm = "disconfirm": "Tells a receiver known to believe it that a proposition is false.",
    Failure = "failure": "An action was attempted and failed.",
    Inform = "inform": "A proposition is true.",
    InformIf = "inform-if": "Asks (as an action) to be told whether a proposition is true.",
    InformRef = "inform-ref": "Asks (as an action) to be told the object that matches a description.",
    NotUnderstood = "not-understood": "A message received was not understood.",
    Propagate = "propagate": "Asks to treat the embedded message as sent directly, and to pass it on.",
    Propose = "propose": "Proposes to perform an action, given preconditions.",
    Proxy = "proxy": "Asks to send the embedded message to the agents described.",
    QueryIf = "query-if": "Asks whether a proposition is true.",
    QueryRef = "query-ref": "Asks for the object that matches a description.",
    Refuse = "refuse": "Refuses to perform an action, with the reason.",
    RejectProposal = "reject-proposal": "Rejects a proposal during a negotiation.",
    Request = "request": "Asks the receiver to perform an action.",
    RequestWhen = "request-when": "Asks to perform an action when a proposition becomes true.",
    RequestWhenever = "request-whenever": "Asks to perform an action each time a proposition becomes true.",
    Subscribe = "subscribe": "Asks to be told the value of a reference, and again whenever it changes.",
}

/// Error: the name is none of the 22 performatives of FIPA00037.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a performative of FIPA00037")]
pub struct UnknownPerformative(pub String);

impl Performative {
    /// Returns the performative of this name: one of FIPA's 22, or else [`Performative::Other`].
    pub fn named(name: Symbol) -> Self {
        Self::FIPA.get(name.index() as usize).copied().unwrap_or(Self::Other(name))
    }
}

impl From<Symbol> for Performative {
    fn from(name: Symbol) -> Self {
        Self::named(name)
    }
}

impl From<Performative> for Symbol {
    fn from(performative: Performative) -> Self {
        match performative {
            Performative::Other(name) => name,
            fipa => Symbol::new(fipa.as_str()),
        }
    }
}

impl fmt::Display for Performative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Performative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_22_names_read_back() {
        for performative in Performative::FIPA {
            assert_eq!(performative.as_str().parse(), Ok(performative));
            assert_eq!(Performative::named(Symbol::new(performative.as_str())), performative);
            assert_eq!(Symbol::from(performative).as_str(), performative.as_str());
        }
        assert!("tell".parse::<Performative>().is_err());
        assert_eq!(Performative::named("tell".into()), Performative::Other("tell".into()));
    }
}

//! Performatives of KQML, as AgentSpeak agents use them.

use whimbrel_acl::{Performative, sym};

/// Returns FIPA's performative with the meaning of KQML's, or the performative itself.
pub fn fipa_of(performative: Performative) -> Performative {
    let Performative::Other(name) = performative else { return performative };
    match name {
        sym::TELL | sym::SIGNAL => Performative::Inform,
        sym::UNTELL => Performative::Disconfirm,
        sym::ACHIEVE => Performative::Request,
        sym::ASK_ONE | sym::ASK_ALL | sym::ASK_HOW => Performative::QueryRef,
        sym::UNACHIEVE => Performative::Cancel,
        _ => performative,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kqml_means_fipa() {
        for (kqml, fipa) in [("tell", Performative::Inform), ("askOne", Performative::QueryRef)] {
            assert_eq!(fipa_of(Performative::named(kqml.into())), fipa);
        }
        assert_eq!(fipa_of(Performative::Agree), Performative::Agree);
    }
}

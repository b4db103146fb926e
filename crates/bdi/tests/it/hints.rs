//! Hints: agents of one program share facts about its steps, even in several threads.

use whimbrel_acl::{Args, Symbol, Value, Var, sym};
use whimbrel_bdi::code::{Hint, Key};
use whimbrel_bdi::mind::BeliefBase;

/// Enough rounds for threads to interleave their steps.
const ROUNDS: u32 = 50_000;

fn key(name: &str) -> Key {
    Key { namespace: sym::DEFAULT, negated: false, functor: Symbol::new(name), arity: 1 }
}

fn number(n: u32) -> Args {
    [Value::Num(n.into())].into_iter().collect()
}

/// Changes beliefs of one predicate by a hint that others change, too; beliefs of another predicate stay.
fn change_beliefs(predicates: [Key; 2], changed: Key, hint: &Hint) {
    let mut beliefs = BeliefBase::default();
    for key in predicates {
        beliefs.add_own(&key, &Hint::default(), number(0));
    }
    for round in 1..ROUNDS {
        assert!(beliefs.replace_own(&changed, hint, &mut number(round)), "round {round}");
        assert!(beliefs.add_own(&changed, hint, number(0)), "round {round}");
        assert_eq!(beliefs.delete_own(&changed, hint, &number(0)), Some(true), "round {round}");
        for key in &predicates {
            let facts = beliefs.facts().filter(|fact| Key::of(fact) == *key);
            assert_eq!(facts.count(), 1, "round {round}");
            assert_eq!(beliefs.table(key).map(|table| table.len()), Some(1), "round {round}");
        }
    }
}

#[test]
fn threads_share_a_hint() {
    let (hint, a, b) = (Hint::default(), key("a"), key("b"));
    std::thread::scope(|scope| {
        for predicates in [[a, b], [b, a]] {
            let hint = &hint;
            scope.spawn(move || change_beliefs(predicates, a, hint));
        }
    });
}

#[test]
fn only_ground_arguments_replace_belief() {
    let (mut beliefs, predicate, hint) = (BeliefBase::default(), key("only"), Hint::default());
    beliefs.add_own(&predicate, &hint, number(1));
    let unbound = Value::Var(Var { slot: 0, name: sym::ANY });
    for open in [unbound.clone(), Value::term("f", [unbound])] {
        assert!(!beliefs.replace_own(&predicate, &hint, &mut [open]));
        assert!(beliefs.facts().all(|fact| fact.is_ground() && fact.args == number(1)));
    }
    assert!(beliefs.replace_own(&predicate, &hint, &mut [Value::list([Value::Nil])]));
    assert!(beliefs.facts().all(|fact| fact.is_ground() && fact.levels() == 2));
}

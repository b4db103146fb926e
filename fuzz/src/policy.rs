//! Properties of policy files, for any text. The fuzz target looks for violations; a test of `whimbrel` replays those
//! that were found.

use whimbrel_platform::policy::{Action, Policy, Principal};

/// Objects of the questions to a policy.
const OBJECTS: [&str; 4] = ["amy", "seller-7", "topic:weather", ""];

/// Checks that a policy answers any question, and that its last prohibition holds.
pub fn policy_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(policy) = toml::from_str::<Policy>(text) else { return };
    assert_eq!(toml::from_str::<Policy>(text).ok().as_ref(), Some(&policy));
    let principals = [
        Principal::Agent { name: "amy".into(), node: "n1".into() },
        Principal::Node("n1".into()),
        Principal::Session { name: "amy".into(), node: "n1".into() },
        Principal::Stranger,
    ];
    // A rule more that forbids: nothing else can say yes.
    let stricter = toml::from_str::<Policy>(&format!("{text}\n[[deny]]\nwho = \"*\"\nsend = \"*\"\nkill = \"amy\"\n"));
    // A rule more that permits changes nothing where the policy said yes.
    let laxer = toml::from_str::<Policy>(&format!("{text}\n[[allow]]\nwho = \"*\"\nsend = \"*\"\n"));
    for who in principals {
        for object in OBJECTS {
            let before = policy.allows(who, Action::Send, object);
            assert!(
                stricter.as_ref().is_ok_and(|policy| !policy.allows(who, Action::Send, object)) || stricter.is_err()
            );
            assert!(!before || laxer.as_ref().map_or(true, |policy| policy.allows(who, Action::Send, object)));
            let _ = policy.verdict(who, Action::Register, object);
        }
        assert!(stricter.as_ref().map_or(true, |policy| !policy.allows(who, Action::Kill, "amy")));
    }
    let _ = (policy.restricts_agents(Action::Send), policy.restricts_nodes(Action::Publish));
}

/// Seeds: policies.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "",
        "[[allow]]\nwho = \"agent:warden\"\nkill = \"*\"\n",
        "[[deny]]\nwho = [\"node:n3\", \"session:*\"]\nsend = [\"vault\", \"bank-*\"]\nregister = \"*\"\n",
        "[[allow]]\nwho = \"stranger\"\nsend = [\"seller*\", \"df\"]\n\n[[deny]]\nwho = \"*\"\ncreate = \"*\"\nmove = \"a*b*c\"\n",
        "# text\nallow = [{ who = \"*\", publish = \"weather\" }, { who = \"node:*\", subscribe = \"group:*\" }]\n",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

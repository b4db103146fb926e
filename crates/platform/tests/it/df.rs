//! The DF: entries, leases, subscriptions, the simple form.

use whimbrel_acl::{AclMessage, Aid, Performative, Value};
use whimbrel_platform::Time;
use whimbrel_platform::df::{
    Df, DfChangeKind, DfDescription, DfQuery, ModifyError, NotRegistered, NoticeForm, RegisterError,
    ServiceDescription, SubscribeError,
};
use whimbrel_platform::limits::{DF_NOTICE_BYTES, DF_SERVICES_PER_AGENT_MAX, DF_SUBSCRIPTIONS_PER_AGENT_MAX};

const NOW: Time = Time::ZERO;

fn entry(agent: &str, service: &str, kind: &str) -> DfDescription {
    DfDescription::of(Aid::local(agent)).with(ServiceDescription::new(service, kind))
}

fn told(df: &mut Df) -> Vec<String> {
    std::iter::from_fn(|| df.poll_message())
        .map(|message| format!("{} {}", message.receivers[0], message.content))
        .collect()
}

fn subscribe(df: &mut Df, subscriber: &str, conversation: &str, template: DfDescription) {
    let ask = AclMessage::new(Performative::Subscribe, Aid::local(subscriber), Aid::local("df"), Value::Null);
    let ask = ask.in_conversation(conversation);
    let inform = Box::new(ask.make_reply(Aid::local("df"), Performative::Inform));
    let form = NoticeForm::Fipa { inform, action: Value::atom("a") };
    df.subscribe(Aid::local(subscriber), template, form, NOW).unwrap();
}

#[test]
fn agent_registers_once() {
    let mut df = Df::new("home");
    df.observe(true);
    df.register(entry("bob", "english", "translation"), NOW).unwrap();
    let again = df.register(entry("bob", "french", "translation"), NOW).unwrap_err();
    assert_eq!(again.to_string(), "agent bob is registered already");
    let full_name = DfDescription::of(Aid::new("bob", "home"));
    assert_eq!(df.register(full_name, NOW), Err(RegisterError::AlreadyRegistered(Aid::local("bob"))));
    assert_eq!(df.register(DfDescription::default(), NOW), Err(RegisterError::NoAgent));
    df.modify(entry("bob", "french", "translation"), NOW).unwrap();
    assert_eq!(df.providers("english", "", NOW), []);
    assert_eq!(df.providers("french", "", NOW), [Aid::local("bob")]);
    df.deregister(Aid::local("bob"), NOW).unwrap();
    assert_eq!(df.deregister(Aid::local("bob"), NOW), Err(NotRegistered(Aid::local("bob"))));
    let missing = df.modify(entry("bob", "french", ""), NOW).unwrap_err();
    assert_eq!(missing, ModifyError::NotRegistered(NotRegistered(Aid::local("bob"))));
    let changes: Vec<DfChangeKind> = std::iter::from_fn(|| df.poll_change()).map(|change| change.kind).collect();
    assert_eq!(changes, [DfChangeKind::Registered, DfChangeKind::Modified, DfChangeKind::Deregistered]);
}

#[test]
fn search_keeps_order_and_limit() {
    let mut df = Df::new("home");
    for name in ["z", "m", "a"] {
        df.register(entry(name, "sell", "market"), NOW).unwrap();
    }
    df.modify(entry("z", "sell", "market"), NOW).unwrap();
    assert_eq!(df.providers("sell", "market", NOW), ["z", "m", "a"].map(Aid::local));
    let query = DfQuery { results_max: 2, ..DfQuery::all(DfDescription::offering("sell", "")) };
    assert_eq!(df.search(&query, NOW).len(), 2);
    let one = DfDescription { agent: Some(Aid::new("m", "home")), ..DfDescription::default() };
    assert_eq!(df.search(&DfQuery::all(one), NOW).len(), 1);
}

/// A hundred thousand searches among a hundred thousand entries: looking at each entry would take hours.
#[test]
fn search_skips_entries_without_service() {
    let mut df = Df::new("home");
    let began = std::time::Instant::now();
    for number in 0..100_000 {
        let mut entry = entry(&format!("agent{number}"), "sell", &format!("kind{}", number / 10));
        entry.ontologies = vec!["market".into()];
        df.register(entry, NOW).unwrap();
    }
    for number in 0..100_000 {
        let mut template = DfDescription::offering("sell", format!("kind{}", number / 10).as_str());
        template.ontologies = vec!["market".into()];
        assert_eq!(df.search(&DfQuery::all(template), NOW).len(), 10);
    }
    println!("100 k entries registered, 100 k searches: {:?}", began.elapsed());
    assert!(began.elapsed().as_secs() < 60);
}

#[test]
fn lease_ends_unless_renewed() {
    let mut df = Df::new("home");
    df.register(entry("bob", "sell", "").leased(100), Time::from_ms(50)).unwrap();
    df.register(entry("amy", "sell", ""), Time::from_ms(50)).unwrap();
    assert_eq!(df.poll_timeout(), Some(Time::from_ms(150)));
    let ends = |df: &Df, agent| df.expires(Aid::local(agent));
    assert_eq!((ends(&df, "bob"), ends(&df, "amy"), ends(&df, "eve")), (Some(Time::from_ms(150)), None, None));
    assert_eq!(df.providers("sell", "", Time::from_ms(149)).len(), 2);
    assert_eq!(df.providers("sell", "", Time::from_ms(150)).len(), 1, "even before the timeout is handled");
    df.modify(entry("bob", "sell", "").leased(100), Time::from_ms(140)).unwrap();
    df.handle_timeout(Time::from_ms(150));
    assert_eq!(ends(&df, "bob"), Some(Time::from_ms(240)));
    assert_eq!(df.providers("sell", "", Time::from_ms(150)).len(), 2);
    df.handle_timeout(Time::from_ms(240));
    assert_eq!(df.providers("sell", "", Time::from_ms(240)), [Aid::local("amy")]);
    assert_eq!((df.poll_timeout(), df.entry_count()), (None, 1));
}

#[test]
fn subscriber_hears_of_all_changes() {
    let mut df = Df::new("home");
    df.register(entry("bob", "sell", "market"), NOW).unwrap();
    subscribe(&mut df, "amy", "c1", DfDescription::offering("sell", ""));
    let present = df.poll_message().unwrap();
    assert_eq!((present.performative, present.sender), (Performative::Inform, Aid::local("df")));
    assert_eq!(present.extras().conversation_id.as_deref(), Some("c1"));
    let bob = "name: agent-identifier{name: \"bob@home\"}";
    let service = "service-description{name: sell,type: market}";
    assert_eq!(
        present.content.to_string(),
        format!("[result(a,set(df-agent-description{{{bob},services: set({service})}}))]")
    );
    df.register(entry("eve", "buy", "market"), NOW).unwrap();
    assert_eq!(told(&mut df), [] as [String; 0], "of no concern");
    df.modify(entry("bob", "sell", "market"), NOW).unwrap();
    assert_eq!(told(&mut df), [] as [String; 0], "nothing changed");
    df.modify(entry("bob", "sell", "stall"), NOW).unwrap();
    assert_eq!(told(&mut df).len(), 1);
    df.modify(entry("bob", "buy", "stall"), NOW).unwrap();
    assert_eq!(told(&mut df), [format!("amy [result(a,set(df-agent-description{{{bob}}}))]")]);
    df.modify(entry("eve", "sell", ""), NOW).unwrap();
    df.handle_agent_ended(Aid::new("eve", "home"));
    assert_eq!(told(&mut df).len(), 2);
    assert_eq!(df.description_of(Aid::local("eve")), None);
}

#[test]
fn long_first_notice_is_split() {
    let mut df = Df::new("home");
    for number in 0..3_000 {
        df.register(entry(&format!("seller{number}"), "sell", "market"), NOW).unwrap();
    }
    subscribe(&mut df, "amy", "c1", DfDescription::offering("sell", ""));
    let pieces: Vec<AclMessage> = std::iter::from_fn(|| df.poll_message()).collect();
    let entries = |piece: &AclMessage| {
        let result = piece.content.items().next().cloned().unwrap();
        result.args()[1].args().len()
    };
    assert!(pieces.len() > 1, "{}", pieces.len());
    assert_eq!(pieces.iter().map(entries).sum::<usize>(), 3_000);
    for piece in &pieces {
        assert_eq!(piece.extras().conversation_id, Some("c1".into()));
        assert!(piece.content.footprint(usize::MAX) <= DF_NOTICE_BYTES + 4_096);
    }
}

#[test]
fn subscription_ends_with_its_subscriber() {
    let mut df = Df::new("home");
    subscribe(&mut df, "amy", "c1", DfDescription::offering("sell", ""));
    subscribe(&mut df, "amy", "c2", DfDescription::default());
    subscribe(&mut df, "eve", "c1", DfDescription::offering("", "market"));
    assert!(df.unsubscribe(Aid::local("amy"), Some(&"c1".into())));
    assert!(!df.unsubscribe(Aid::local("amy"), Some(&"c1".into())));
    df.handle_agent_ended(Aid::local("eve"));
    df.register(entry("bob", "sell", "market"), NOW).unwrap();
    let receivers: Vec<String> = told(&mut df).iter().map(|line| line[..3].to_owned()).collect();
    assert_eq!(receivers, ["amy"]);
}

#[test]
fn simple_form_tells_provider_once() {
    let mut df = Df::new("home");
    let (amy, bob) = (Aid::local("amy"), Aid::local("bob"));
    df.add_service(bob, "sell", "", NOW).unwrap();
    df.subscribe_providers(amy, "sell", "", NOW).unwrap();
    assert_eq!(told(&mut df), [r#"amy provider(bob,"sell")"#]);
    df.add_service(bob, "sell", "", NOW).unwrap();
    df.add_service(bob, "buy", "", NOW).unwrap();
    assert_eq!(told(&mut df), [] as [String; 0]);
    df.add_service(amy, "sell", "", NOW).unwrap();
    assert_eq!(told(&mut df), [r#"amy provider(amy,"sell")"#]);
    df.remove_service(bob, "sell", "", NOW);
    assert_eq!(df.providers("sell", "", NOW), [amy]);
    assert_eq!(df.providers("buy", "", NOW), [bob]);
    df.remove_service(bob, "", "", NOW);
    assert_eq!(df.entry_count(), 1);
    df.add_service(bob, "sell", "", NOW).unwrap();
    assert_eq!(told(&mut df), [r#"amy provider(bob,"sell")"#]);
}

#[test]
fn offered_service_replaces_its_namesake() {
    let (mut df, bob) = (Df::new("here"), Aid::local("bob"));
    let sell = |price: i64| ServiceDescription {
        properties: vec![("price".into(), Value::Int(price))],
        ..ServiceDescription::new("sell", "shop")
    };
    let before = df.revision();
    df.add_service(bob, "sell", "", NOW).unwrap();
    df.offer_service(bob, sell(5), NOW).unwrap();
    df.offer_service(bob, sell(6), NOW).unwrap();
    let services = &df.description_of(bob).expect("an entry").services;
    assert_eq!(services[..], [ServiceDescription::new("sell", ""), sell(6)]);
    let revision = df.revision();
    assert!(revision > before);
    df.search(&DfQuery::all(DfDescription::offering("sell", "")), NOW);
    assert_eq!(df.revision(), revision, "a search changes nothing");
    assert!(df.remove_service(bob, "sell", "shop", NOW) && df.revision() > revision);
}

#[test]
fn services_and_subscriptions_are_limited() {
    let mut df = Df::new("home");
    let mut many = DfDescription::of(Aid::local("bob"));
    many.services = vec![ServiceDescription::new("s", ""); DF_SERVICES_PER_AGENT_MAX + 1];
    assert!(matches!(df.register(many, NOW), Err(RegisterError::TooManyServices { .. })));
    let amy = Aid::local("amy");
    for _ in 0..DF_SUBSCRIPTIONS_PER_AGENT_MAX {
        df.subscribe_providers(amy, "sell", "", NOW).unwrap();
    }
    assert_eq!(df.subscribe_providers(amy, "sell", "", NOW), Err(SubscribeError::TooMany(amy)));
}

#[test]
fn snapshot_restores_whole_state() {
    let mut df = Df::new("home");
    df.register(entry("bob", "sell", "market").leased(100), NOW).unwrap();
    df.subscribe_providers(Aid::local("amy"), "buy", "", NOW).unwrap();
    subscribe(&mut df, "amy", "c1", DfDescription::offering("buy", ""));
    let text = serde_json::to_string(&df.snapshot()).unwrap();
    let mut restored = Df::restore(serde_json::from_str(&text).unwrap());
    assert_eq!(restored.snapshot(), df.snapshot());
    assert_eq!(restored.poll_timeout(), Some(Time::from_ms(100)));
    for df in [&mut df, &mut restored] {
        df.add_service(Aid::local("eve"), "buy", "", NOW).unwrap();
    }
    let messages = told(&mut df);
    assert_eq!(messages.len(), 2);
    assert_eq!(messages, told(&mut restored));
}

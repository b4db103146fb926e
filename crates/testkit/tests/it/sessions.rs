//! Sessions: once and in order, whatever the wire does; and an end, whatever the client does.

use whimbrel_platform::inspection::Look;
use whimbrel_platform::session::{ErrorCode, Framing, SessionGrant};
use whimbrel_testkit::{Faults, SessionWorld};

const SEEDS: u64 = 30;

fn grant(window: u32) -> SessionGrant {
    SessionGrant { window, lease_ms: 5_000, ..SessionGrant::new("tester", vec!["bob".into()]) }
}

fn said_by_amy(world: &SessionWorld) -> Vec<i64> {
    world.sim.output().iter().filter_map(|line| line.strip_prefix("[amy] ")?.parse().ok()).collect()
}

/// Both ends send while the wire does this: all arrives, once and in order.
fn both_ways(framing: Framing, window: u32, faults: Faults) -> usize {
    let mut broken = 0;
    for seed in 0..SEEDS {
        let mut world = SessionWorld::new(seed, framing, grant(window));
        world.run_for(20);
        world.faults = faults;
        let (mut to_bob, mut to_amy) = (0, 0);
        for _ in 0..60 {
            for _ in 0..5 {
                world.send_to_bob(to_bob);
                to_bob += 1;
                world.client.send(to_amy);
                to_amy += 1;
            }
            world.run_for(10);
        }
        world.faults = Faults::default();
        world.run_for(4_000);
        assert_eq!(world.client.arrived, (0..to_bob).collect::<Vec<_>>(), "seed {seed}: {:?}", world.client.faults);
        assert_eq!(said_by_amy(&world), (0..to_amy).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!((world.client.waiting(), world.client.refused.len()), (0, 0), "seed {seed}");
        assert_eq!(world.sim.counters().check(), Ok(()), "seed {seed}");
        broken += world.connections - 1;
    }
    broken
}

#[test]
fn good_wire_needs_one_connection() {
    for framing in [Framing::Json, Framing::Compact] {
        assert_eq!(both_ways(framing, 256, Faults::default()), 0);
        assert_eq!(both_ways(framing, 1, Faults::default()), 0);
    }
}

#[test]
fn broken_connections_deliver_in_order() {
    for (framing, window) in [(Framing::Json, 16), (Framing::Compact, 256), (Framing::Compact, 3)] {
        let broken = both_ways(framing, window, Faults { cut: 60, ..Faults::default() });
        assert!(broken > SEEDS as usize, "the wire was bad: {broken}");
    }
}

#[test]
fn lost_or_doubled_frames_are_noticed() {
    let broken = both_ways(Framing::Compact, 64, Faults { cut: 200, drop: 100, double: 100, garble: 0 });
    assert!(broken > SEEDS as usize, "the wire was bad: {broken}");
}

#[test]
fn short_break_loses_nothing() {
    let mut world = SessionWorld::new(1, Framing::Json, grant(32));
    world.run_for(20);
    world.severed = true;
    world.cut();
    (0..500).for_each(|number| world.send_to_bob(number));
    (0..40).for_each(|number| world.client.send(number));
    world.run_for(4_900);
    assert_eq!(world.client.arrived.len(), 0);
    world.severed = false;
    world.run_for(2_000);
    assert_eq!(world.client.arrived, (0..500).collect::<Vec<_>>());
    assert_eq!(said_by_amy(&world), (0..40).collect::<Vec<_>>());
}

#[test]
fn connected_state_is_visible() {
    let mut world = SessionWorld::new(1, Framing::Json, grant(8));
    let see = |world: &mut SessionWorld| -> Vec<String> {
        let now = world.sim.now();
        let seen = world.sim.body("bob").expect("bob is there").inspect(Look::default(), now);
        seen.details.into_iter().skip(1).map(|detail| format!("{}: {}", detail.name, detail.value)).collect()
    };
    world.run_for(20);
    assert_eq!(see(&mut world), ["connected: yes", "not acknowledged: 0 messages of the session"]);
    world.client.is_lazy = true;
    (0..40).for_each(|number| world.send_to_bob(number));
    world.run_for(100);
    world.session().lock().handle_disconnected();
    let seen = see(&mut world);
    assert_eq!(seen, ["connected: no: what is for it waits", "not acknowledged: 8 messages of the session"]);
}

#[test]
fn long_break_ends_session_agents() {
    for seed in 0..SEEDS {
        let mut world = SessionWorld::new(seed, Framing::Compact, grant(8));
        world.run_for(20);
        (0..5).for_each(|number| world.send_to_bob(number));
        world.run_for(50);
        assert_eq!(world.client.arrived, [0, 1, 2, 3, 4]);
        world.severed = true;
        world.cut();
        (5..40).for_each(|number| world.send_to_bob(number));
        world.run_for(6_000);
        assert!(world.session().lock().is_over(), "the lease is over");
        assert!(!world.sim.services().exists(whimbrel_acl::Aid::local("bob")));
        let failures = world.sim.output().iter().filter(|line| line.contains("undelivered(bob,")).count();
        assert_eq!(failures, 35, "seed {seed}");
        assert_eq!(world.sim.counters().check(), Ok(()), "seed {seed}");
        world.severed = false;
        world.run_for(100);
        assert_eq!(world.client.faults.first().map(|fault| fault.code), Some(ErrorCode::SessionGone));
    }
}

#[test]
fn unacknowledged_window_stops_senders() {
    let mut world = SessionWorld::new(7, Framing::Json, grant(10));
    world.run_for(20);
    world.client.is_lazy = true;
    (0..100).for_each(|number| world.send_to_bob(number));
    world.run_for(10_000);
    assert!(world.client.arrived.len() <= 10, "{}", world.client.arrived.len());
    assert_eq!(world.sim.counters().queued, 100 - 10, "the others are in the mailbox");
    world.client.is_lazy = false;
    world.run_for(500);
    assert_eq!(world.client.arrived, (0..100).collect::<Vec<_>>());
}

#[test]
fn lease_detects_dead_client() {
    let mut world = SessionWorld::new(3, Framing::Compact, grant(10));
    world.run_for(20);
    world.client.is_dead = true;
    world.send_to_bob(1);
    world.run_for(4_900);
    assert!(world.sim.services().exists(whimbrel_acl::Aid::local("bob")));
    world.run_for(200);
    assert!(!world.sim.services().exists(whimbrel_acl::Aid::local("bob")));
    assert!(
        world.sim.output().iter().any(|line| line.contains("undelivered(bob,agent_ended)")),
        "{:?}",
        world.sim.output()
    );
}

#[test]
fn client_hears_of_killed_agent() {
    let mut world = SessionWorld::new(3, Framing::Json, grant(10));
    world.run_for(20);
    assert!(world.sim.kill("bob"));
    world.run_for(20);
    assert_eq!(world.client.ended.as_deref(), Some("killed"));
    world.client.send(1);
    world.run_for(50);
    assert_eq!(world.client.refused, [ErrorCode::NoAgent]);
}

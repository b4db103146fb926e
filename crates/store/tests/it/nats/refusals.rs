//! Refusal of engines that promise less than the options ask for.

use whimbrel_platform::store::{Coord, Journal, Revision, Survives};
use whimbrel_store::nats::{ConnectError, EngineOptions, Nats, status};

use super::engine::{TestEngine, connect};

fn asking(survives: Survives) -> EngineOptions {
    EngineOptions { survives: Some(survives), partitions: 8, streams: 1, ..EngineOptions::default() }
}

/// Returns the reason for which a store at this address is refused.
fn refused(address: &str, survives: Survives) -> String {
    match Nats::connect(address, asking(survives)) {
        Ok(_) => panic!("{address} was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn weaker_engine_is_refused() {
    let Some(engine) = TestEngine::start(1, false) else { return };
    let url = engine.cluster.url();
    let server = url.split(['?', '/']).nth(2).unwrap();
    let error = refused(&format!("nats://{server}/a?replicas=1"), Survives::PowerCut);
    assert!(error.contains("set `sync_interval: always` in the jetstream block of whimbrel-1"), "{error}");
    let error = refused(&format!("nats://{server}/a?replicas=1"), Survives::OneMachine);
    assert!(error.contains("?replicas=3"), "{error}");
    let error = refused(&format!("nats://{server}/a"), Survives::OneMachine);
    assert!(error.contains("3 copies need 3 servers"), "{error}");
    let error = refused("nats://127.0.0.1:1", Survives::Nothing);
    assert!(error.contains("no NATS server answers at nats://127.0.0.1:1"), "{error}");
    // The refusal did not make the store.
    let there = status(&format!("nats://{server}/a?replicas=1"), asking(Survives::OneMachine)).unwrap();
    assert_eq!((there.partitions, there.streams.len()), (None, 0));
    assert!(there.refused.unwrap().contains("?replicas=3"));
}

/// Sends an order about a stream to a server of an engine.
fn order(address: &str, order: &str) {
    let server = address.split(['?', '/']).nth(2).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server).await.unwrap();
        let answer = client.request(format!("$JS.API.{order}"), "".into()).await.unwrap();
        let answer = String::from_utf8(answer.payload.to_vec()).unwrap();
        assert!(answer.contains("\"success\":true"), "{answer}");
    });
}

#[test]
fn lost_stream_is_never_recreated() {
    let Some(engine) = TestEngine::start(1, false) else { return };
    for (stream, said) in [("J1", "J1 is missing"), ("BLOB", "BLOB is missing"), ("COORD", "COORD is missing")] {
        let address = engine.fresh();
        let name = address.rsplit_once('/').unwrap().1.split('?').next().unwrap().to_owned();
        let store = connect(&address);
        store.write("key", Revision(0), b"value").unwrap();
        drop(store);
        drop(connect(&address));
        order(&address, &format!("STREAM.DELETE.{name}-{stream}"));
        for _ in 0..2 {
            let error = refused(&address, Survives::Nothing);
            assert!(error.contains(&format!("stream {name}-{said}")) && error.contains("restore"), "{error}");
        }
    }
    // A store that was never used may be completed.
    let address = engine.fresh();
    let name = address.rsplit_once('/').unwrap().1.split('?').next().unwrap().to_owned();
    drop(connect(&address));
    order(&address, &format!("STREAM.DELETE.{name}-J1"));
    drop(connect(&address));
    // Without the keys, the store's settings are lost.
    connect(&address).write("key", Revision(0), b"value").unwrap();
    order(&address, &format!("STREAM.PURGE.{name}-COORD"));
    let error = refused(&address, Survives::Nothing);
    assert!(error.contains("no longer has it"), "{error}");
}

#[test]
fn store_layout_is_fixed() {
    let Some(engine) = TestEngine::start(1, true) else { return };
    let address = engine.fresh();
    let store = connect(&address);
    assert_eq!((store.partitions(), store.promises().survives), (8, Survives::PowerCut));
    assert_eq!(store.standing().servers.len(), 1);
    let again = Nats::connect(&address.replace("partitions=8&streams=2", "partitions=64"), asking(Survives::PowerCut));
    assert_eq!(again.unwrap().partitions(), 8);
    let there = status(&address, asking(Survives::PowerCut)).unwrap();
    assert_eq!((there.partitions, there.refused), (Some(8), None));
    let streams: Vec<_> = there
        .streams
        .iter()
        .map(|stream| (stream.name.rsplit_once('-').unwrap().1, stream.differences.len()))
        .collect();
    assert_eq!(streams, [("COORD", 0), ("J0", 0), ("J1", 0), ("BLOB", 0)]);
    let three = address.replace("replicas=1", "replicas=3");
    let error = Nats::connect(&three, asking(Survives::OneMachine)).err().unwrap();
    let ConnectError::Settings { differences, .. } = &error else { panic!("{error}") };
    assert_eq!(differences, "num_replicas is 1, not 3");
}

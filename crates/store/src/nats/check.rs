//! Check of an engine before it is trusted with data, and its streams.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use whimbrel_platform::limits;
use whimbrel_platform::store::Survives;

use super::address::EngineOptions;
use super::engine::{
    NO_STREAM, NatsEngine, NatsMessage, Pause, RequestError, ServerInfo, WRONG_LAST_SEQUENCE, servers,
};
use super::journal::persist;
use super::{ConnectError, patience};

/// Oldest engine with the needed features.
const VERSION_MIN: (u32, u32) = (2, 12);
/// There are fewer servers than copies asked for, at the moment; there is no cluster at all.
const NO_PEERS_NOW: u32 = 10_005;
const NO_PEERS: [u32; 2] = [NO_PEERS_NOW, 10_074];

/// State and guarantees of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineState {
    /// The version of the server that this node is connected to.
    pub version: String,
    /// Name of the cluster; empty if there is none.
    pub cluster: String,
    /// Bytes of a message at most.
    pub payload_bytes_max: usize,
    /// All servers; empty if the account may not ask for them.
    pub servers: Vec<ServerInfo>,
}

impl EngineState {
    /// Asks the engine for its state.
    pub(crate) async fn of(engine: &NatsEngine) -> Self {
        let info = engine.client.server_info();
        Self {
            version: info.version.clone(),
            cluster: info.cluster.clone().unwrap_or_default(),
            payload_bytes_max: info.max_payload,
            servers: servers(&engine.client).await,
        }
    }

    /// Returns true if all servers that keep streams flush before they acknowledge; `None` if that is unknown.
    pub fn sync_always(&self) -> Option<bool> {
        let mut keepers = self.servers.iter().filter(|server| server.jetstream).peekable();
        keepers.peek()?;
        Some(keepers.all(|server| server.sync_always))
    }

    /// Returns the guarantee of acknowledgements for this number of copies.
    pub fn survives(&self, replicas: u8, sync_believed: bool) -> Survives {
        match (replicas > 1, self.sync_always().unwrap_or(sync_believed)) {
            (false, false) => Survives::Process,
            (false, true) => Survives::PowerCut,
            (true, false) => Survives::OneMachine,
            (true, true) => Survives::OneMachineAndPowerCut,
        }
    }

    /// Refuses an engine that is too old or promises less than asked.
    pub(crate) fn check(&self, options: &EngineOptions) -> Result<(), ConnectError> {
        let mut parts = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        let version = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if version < VERSION_MIN {
            return Err(ConnectError::TooOld { version: self.version.clone() });
        }
        let promised = self.survives(options.replicas, options.sync_believed);
        if covers(promised, options.asked()) {
            return Ok(());
        }
        Err(ConnectError::Weaker { asked: options.asked(), promised, fix: self.fix(options) })
    }

    fn fix(&self, options: &EngineOptions) -> String {
        let mut fixes = Vec::new();
        if options.replicas == 1 && options.asked() > Survives::PowerCut {
            fixes.push("ask for three copies (?replicas=3), which needs three servers".to_owned());
        }
        let power = matches!(options.asked(), Survives::PowerCut | Survives::OneMachineAndPowerCut);
        match self.sync_always() {
            Some(true) => {}
            Some(false) if power => {
                let lazy = self.servers.iter().filter(|server| server.jetstream && !server.sync_always);
                let lazy: Vec<&str> = lazy.map(|server| server.name.as_str()).collect();
                fixes.push(format!("set `sync_interval: always` in the jetstream block of {}", lazy.join(", ")));
            }
            None if power => fixes.push(
                "the servers do not say whether they flush before they acknowledge: let this account import \
                 $SYS.REQ.SERVER.PING.VARZ (deploy/README.md), or vouch for it with ?sync=always"
                    .to_owned(),
            ),
            _ => {}
        }
        fixes.join("; ")
    }
}

/// Checks whether the promised guarantee includes the one asked for. Surviving the loss of a machine does not include
/// a power cut of all.
fn covers(promised: Survives, asked: Survives) -> bool {
    promised >= asked && (asked != Survives::PowerCut || promised != Survives::OneMachine)
}

/// Number of a store's partitions, and of their streams: fixed when the store is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct StreamLayout {
    format: u32,
    pub partitions: u16,
    pub streams: u16,
}

impl StreamLayout {
    pub(crate) fn of(partitions: u16, streams: u16) -> Self {
        Self { format: FORMAT, partitions, streams }
    }
}

/// Version of the stored format.
const FORMAT: u32 = 1;

/// Makes the store's streams where they are missing, and checks those that are there.
pub(crate) async fn prepare(engine: &NatsEngine, options: &EngineOptions) -> Result<StreamLayout, ConnectError> {
    let name = &options.name;
    let is_used = is_used(engine, options).await?;
    ensure(engine, coordination(options), false).await?;
    let layout = layout(engine, options, is_used).await?;
    for index in 0..layout.streams {
        ensure(engine, journal(options, index), is_used).await?;
    }
    ensure(engine, blobs(options), is_used).await?;
    // A stream that was just made has no leader for a while.
    let deadline = Instant::now() + patience();
    let marks = (0..layout.streams).map(|index| format!("{name}.j.{index}.begin"));
    for mark in marks.chain([format!("{name}.b.mark")]) {
        let post = NatsMessage::new(&b"begin"[..]).instead();
        persist(deadline, || engine.publish(&mark, &post)).await.map_err(|trouble| failed(&mark, trouble))?;
    }
    Ok(layout)
}

/// Checks whether the store was ever written to. Then a missing stream was lost, and must not be made again.
async fn is_used(engine: &NatsEngine, options: &EngineOptions) -> Result<bool, ConnectError> {
    let EngineOptions { name, .. } = options;
    let (coordination, first) = (format!("{name}-COORD"), format!("{name}-J0"));
    // The order matters: a node that makes a store, perhaps at this moment, makes the coordination first.
    let journal_there = info(engine, &first).await?.is_some();
    let Some(there) = info(engine, &coordination).await? else {
        return match journal_there {
            true => Err(ConnectError::Lost { stream: coordination, others: format!("{first} ...") }),
            false => Ok(false),
        };
    };
    // The first message says how the store is made; others are written once it is.
    Ok(there.pointer("/state/last_seq").and_then(Value::as_u64).unwrap_or_default() > 1)
}

/// Returns the engine's information on a stream; `None` if there is no such stream.
async fn info(engine: &NatsEngine, stream: &str) -> Result<Option<Value>, ConnectError> {
    let question = format!("STREAM.INFO.{stream}");
    match persist(Instant::now() + patience(), || engine.ask(&question, &Value::Null)).await {
        Ok(there) => Ok(Some(there)),
        Err(trouble) if trouble.code() == Some(NO_STREAM) => Ok(None),
        Err(RequestError::NotTaken(_)) => Err(ConnectError::NoJetStream),
        Err(trouble) => Err(failed(stream, trouble)),
    }
}

/// Settings that all streams share.
fn settings(options: &EngineOptions, name: String, subjects: &[String], more: Value) -> Value {
    let mut settings = json!({
        "name": name,
        "subjects": subjects,
        "storage": "file",
        "retention": "limits",
        "discard": "new",
        "num_replicas": options.replicas,
        "allow_direct": false,
        "max_age": 0,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_msgs_per_subject": -1,
        "deny_delete": false,
        "deny_purge": false,
        "allow_rollup_hdrs": true,
        "duplicate_window": Duration::from_secs(limits::STORE_NATS_REMEMBER_S).as_nanos() as u64,
    });
    if let (Some(all), Value::Object(more)) = (settings.as_object_mut(), more) {
        all.extend(more);
    }
    settings
}

fn coordination(options: &EngineOptions) -> Value {
    let EngineOptions { name, .. } = options;
    let subjects = [format!("{name}.c.>"), format!("{name}.m.*")];
    let more = json!({ "max_msgs_per_subject": 1, "allow_msg_ttl": true });
    settings(options, format!("{name}-COORD"), &subjects, more)
}

fn journal(options: &EngineOptions, index: u16) -> Value {
    let EngineOptions { name, .. } = options;
    settings(options, format!("{name}-J{index}"), &[format!("{name}.j.{index}.>")], json!({}))
}

fn blobs(options: &EngineOptions) -> Value {
    let EngineOptions { name, .. } = options;
    let more = json!({ "max_msgs_per_subject": 1 });
    settings(options, format!("{name}-BLOB"), &[format!("{name}.b.>")], more)
}

/// Returns the settings that all streams of a store are to have.
pub(crate) fn wanted(options: &EngineOptions, layout: StreamLayout) -> Vec<Value> {
    let journals = (0..layout.streams).map(|index| journal(options, index));
    [coordination(options)].into_iter().chain(journals).chain([blobs(options)]).collect()
}

pub(crate) fn name_of(settings: &Value) -> &str {
    settings.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Removes a store's streams, the one with the layout first.
pub(crate) async fn erase(
    engine: &NatsEngine,
    options: &EngineOptions,
    layout: StreamLayout,
) -> Result<(), ConnectError> {
    for settings in wanted(options, layout) {
        let order = format!("STREAM.DELETE.{}", name_of(&settings));
        match persist(Instant::now() + patience(), || engine.ask(&order, &Value::Null)).await {
            Err(trouble) if trouble.code() != Some(NO_STREAM) => return Err(failed(name_of(&settings), trouble)),
            _ => {}
        }
    }
    Ok(())
}

/// Lists the differences of a stream's settings from the wanted ones. The engine omits values that are 0, false or
/// empty.
pub(crate) fn differences(wanted: &Value, there: &Value) -> Vec<String> {
    let Some(wanted) = wanted.as_object() else { return Vec::new() };
    let differs = |(key, wanted): (&String, &Value)| {
        let there = there.get(key).cloned().unwrap_or(match wanted {
            Value::Bool(_) => json!(false),
            Value::Number(_) => json!(0),
            _ => Value::Null,
        });
        (there != *wanted).then(|| format!("{key} is {there}, not {wanted}"))
    };
    wanted.iter().filter_map(differs).collect()
}

/// Creates a stream if it is missing, unless the store was used; an existing one must be as wanted.
async fn ensure(engine: &NatsEngine, wanted: Value, is_used: bool) -> Result<(), ConnectError> {
    let name = name_of(&wanted).to_owned();
    let deadline = Instant::now() + patience();
    let question = format!("STREAM.INFO.{name}");
    let there = persist(deadline, || engine.ask(&question, &Value::Null)).await;
    let there = match there {
        Err(trouble) if trouble.code() == Some(NO_STREAM) && is_used => {
            let others = name.rsplit_once('-').map_or("", |(store, _)| store);
            return Err(ConnectError::Lost { others: format!("{others}-COORD ..."), stream: name });
        }
        Err(trouble) if trouble.code() == Some(NO_STREAM) => create(engine, &name, &wanted, deadline).await,
        there => there,
    };
    let there = match there {
        Ok(there) => there,
        Err(trouble) if trouble.code().is_some_and(|code| NO_PEERS.contains(&code)) => {
            let replicas = wanted.get("num_replicas").and_then(Value::as_u64).unwrap_or_default();
            return Err(ConnectError::TooFewServers { replicas, why: trouble.to_string() });
        }
        Err(RequestError::NotTaken(_)) => return Err(ConnectError::NoJetStream),
        Err(trouble) => return Err(failed(&name, trouble)),
    };
    let differences = differences(&wanted, there.get("config").unwrap_or(&Value::Null));
    match differences.is_empty() {
        true => Ok(()),
        false => Err(ConnectError::Settings { stream: name, differences: differences.join("; ") }),
    }
}

/// Makes a stream. Servers that were just started may not have found each other yet.
async fn create(engine: &NatsEngine, name: &str, wanted: &Value, deadline: Instant) -> Result<Value, RequestError> {
    let mut pause = Pause::default();
    let order = format!("STREAM.CREATE.{name}");
    loop {
        let made = persist(deadline, || engine.ask(&order, wanted)).await;
        match made {
            Err(trouble) if trouble.code() == Some(NO_PEERS_NOW) && Instant::now() < deadline => pause.wait().await,
            made => return made,
        }
    }
}

/// Reads how the store is made, or says so first.
async fn layout(engine: &NatsEngine, options: &EngineOptions, is_used: bool) -> Result<StreamLayout, ConnectError> {
    let subject = format!("{}.m.layout", options.name);
    let stream = format!("{}-COORD", options.name);
    if is_used {
        let there = layout_there(engine, options).await?;
        let why = format!("{stream} no longer has it, and other keys with it: restore the stream from a backup");
        return there.ok_or(ConnectError::Failed { what: subject, why });
    }
    let deadline = Instant::now() + patience();
    let fresh = StreamLayout::of(options.partitions, options.streams);
    let post = NatsMessage::new(json!(fresh).to_string()).expecting(0, &subject);
    match persist(deadline, || engine.publish_settled(&subject, &post, deadline)).await {
        Ok(_) => return Ok(fresh),
        Err(trouble) if trouble.code() == Some(WRONG_LAST_SEQUENCE) => {}
        Err(trouble) => return Err(failed(&subject, trouble)),
    }
    let there = layout_there(engine, options).await?;
    there.ok_or_else(|| ConnectError::Failed { what: subject, why: format!("{stream} no longer has it") })
}

/// Returns the layout of the store; `None` if there is no store.
pub(crate) async fn layout_there(
    engine: &NatsEngine,
    options: &EngineOptions,
) -> Result<Option<StreamLayout>, ConnectError> {
    let subject = format!("{}.m.layout", options.name);
    let stream = format!("{}-COORD", options.name);
    let there = persist(Instant::now() + patience(), || engine.last(&stream, &subject)).await;
    let there = match there {
        Ok(Some(there)) => there.payload,
        Ok(None) => return Ok(None),
        Err(trouble) if trouble.code() == Some(NO_STREAM) => return Ok(None),
        Err(trouble) => return Err(failed(&stream, trouble)),
    };
    let failed = |why: String| ConnectError::Failed { what: subject.clone(), why };
    let layout: StreamLayout = serde_json::from_slice(&there).map_err(|error| failed(error.to_string()))?;
    if layout.format != FORMAT || layout.partitions == 0 || layout.streams == 0 {
        return Err(failed(format!("its format is {}, this release reads {FORMAT}", layout.format)));
    }
    Ok(Some(layout))
}

fn failed(what: &str, trouble: RequestError) -> ConnectError {
    ConnectError::Failed { what: what.to_owned(), why: trouble.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, sync_always: bool) -> ServerInfo {
        ServerInfo {
            name: name.into(),
            version: "2.15.1".into(),
            jetstream: true,
            sync_always,
            sync_interval: Duration::from_secs(120),
            storage_bytes: 0,
            uptime: String::new(),
        }
    }

    fn standing(version: &str, servers: Vec<ServerInfo>) -> EngineState {
        EngineState { version: version.into(), cluster: String::new(), payload_bytes_max: 1 << 20, servers }
    }

    fn asking(survives: Survives, replicas: u8, sync_believed: bool) -> EngineOptions {
        EngineOptions { survives: Some(survives), replicas, sync_believed, ..EngineOptions::default() }
    }

    #[test]
    fn engine_with_enough_guarantees_is_accepted() {
        let both = standing("2.15.1", vec![server("a", true), server("b", true)]);
        let lazy = standing("2.12.0", vec![server("a", true), server("b", false)]);
        let silent = standing("3.0.0-beta.1", Vec::new());
        use Survives::*;
        let cases = [
            (&both, asking(OneMachineAndPowerCut, 3, false), true),
            (&both, asking(PowerCut, 1, false), true),
            (&both, asking(OneMachine, 1, false), false),
            (&lazy, asking(OneMachine, 3, false), true),
            (&lazy, asking(OneMachineAndPowerCut, 3, true), false),
            (&lazy, asking(PowerCut, 3, false), false),
            (&lazy, asking(Process, 1, false), true),
            (&silent, asking(OneMachineAndPowerCut, 3, false), false),
            (&silent, asking(OneMachineAndPowerCut, 3, true), true),
        ];
        for (standing, options, taken) in cases {
            assert_eq!(standing.check(&options).is_ok(), taken, "{standing:?} {options:?}");
        }
    }

    #[test]
    fn what_to_do_is_said() {
        let lazy = standing("2.15.1", vec![server("a", true), server("b", false)]);
        let error = lazy.check(&asking(Survives::OneMachineAndPowerCut, 3, false)).unwrap_err().to_string();
        assert!(error.contains("`sync_interval: always` in the jetstream block of b"), "{error}");
        let silent = standing("2.15.1", Vec::new());
        let error = silent.check(&asking(Survives::OneMachineAndPowerCut, 1, false)).unwrap_err().to_string();
        assert!(error.contains("?replicas=3") && error.contains("?sync=always"), "{error}");
        let error = standing("2.9.10", Vec::new()).check(&asking(Survives::Nothing, 1, false)).unwrap_err().to_string();
        assert!(error.contains("2.9.10") && error.contains("2.12"), "{error}");
        let error = lazy.check(&asking(Survives::OneMachine, 1, false)).unwrap_err().to_string();
        assert!(error.contains("?replicas=3") && !error.contains("sync_interval"), "one copy is the trouble: {error}");
    }

    #[test]
    fn settings_that_differ_are_named() {
        let wanted = coordination(&EngineOptions::default());
        let mut there = wanted.clone();
        there.as_object_mut().unwrap().retain(|_, value| *value != json!(false) && *value != json!(0));
        assert_eq!(differences(&wanted, &there), Vec::<String>::new());
        there["num_replicas"] = json!(1);
        there["allow_direct"] = json!(true);
        assert_eq!(differences(&wanted, &there), ["allow_direct is true, not false", "num_replicas is 1, not 3"]);
    }
}

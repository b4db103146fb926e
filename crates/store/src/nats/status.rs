//! Status of an engine and of a store's streams, beside the wanted settings. Nothing is made or changed.

use serde_json::Value;

use super::address::{Address, EngineOptions};
use super::check::{EngineState, differences, name_of, wanted};
use super::engine::{NO_STREAM, NatsEngine};
use super::{ClientThread, ConnectError, check};

/// Status of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// State and guarantees of the engine.
    pub standing: EngineState,
    /// The name of the store.
    pub store: String,
    /// Options of the store.
    pub options: EngineOptions,
    /// Partitions; `None` if the store was not made yet.
    pub partitions: Option<u16>,
    /// Streams of the store.
    pub streams: Vec<StreamStatus>,
    /// Reason for which a node would refuse this engine, if it would.
    pub refused: Option<String>,
}

/// Status of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamStatus {
    /// Name.
    pub name: String,
    /// The server that leads it; empty: none at the moment, or it is the only one.
    pub leader: String,
    /// The other servers that have it, and how many messages each is behind.
    pub followers: Vec<(String, u64)>,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of the messages.
    pub bytes: u64,
    /// Settings that differ from the wanted ones.
    pub differences: Vec<String>,
}

/// Looks at the engine and the store at an address.
///
/// # Errors
/// It cannot be reached.
pub fn status(address: &str, options: EngineOptions) -> Result<Status, ConnectError> {
    let address = Address::parse(address, options)?;
    let runtime = ClientThread::start()?;
    runtime.block_on(async {
        let engine = NatsEngine::connect(&address).await?;
        let options = address.options;
        let standing = EngineState::of(&engine).await;
        let refused = standing.check(&options).err().map(|error| error.to_string());
        let layout = check::layout_there(&engine, &options).await?;
        let mut streams = Vec::new();
        if let Some(layout) = layout {
            for settings in wanted(&options, layout) {
                streams.push(stream(&engine, &settings).await?);
            }
        }
        let partitions = layout.map(|layout| layout.partitions);
        Ok(Status { standing, store: options.name.clone(), options, partitions, streams, refused })
    })
}

async fn stream(engine: &NatsEngine, wanted: &Value) -> Result<StreamStatus, ConnectError> {
    let name = name_of(wanted).to_owned();
    let info = match engine.ask(&format!("STREAM.INFO.{name}"), &Value::Null).await {
        Ok(info) => info,
        Err(trouble) if trouble.code() == Some(NO_STREAM) => {
            let differences = vec!["it is missing".to_owned()];
            let leader = String::new();
            return Ok(StreamStatus { name, leader, followers: Vec::new(), messages: 0, bytes: 0, differences });
        }
        Err(trouble) => return Err(ConnectError::Failed { what: name, why: trouble.to_string() }),
    };
    let number = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let replicas = info.pointer("/cluster/replicas").and_then(Value::as_array);
    let followers = replicas.into_iter().flatten().map(|replica| (text(replica, "/name"), number(replica, "/lag")));
    Ok(StreamStatus {
        leader: text(&info, "/cluster/leader"),
        followers: followers.collect(),
        messages: number(&info, "/state/messages"),
        bytes: number(&info, "/state/bytes"),
        differences: differences(wanted, info.get("config").unwrap_or(&Value::Null)),
        name,
    })
}

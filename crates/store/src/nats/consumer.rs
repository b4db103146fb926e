//! A consumer: the engine sends a stream's messages as fast as they are taken, instead of being asked for each.

use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};
use whimbrel_platform::limits;

use super::breaks::Unbroken;
use super::engine::{NatsEngine, RequestError};

/// Consumer of a stream. Its owner makes another one when it may have missed a message.
pub(crate) struct StreamConsumer {
    messages: Subscriber,
    /// Number of messages that were delivered.
    delivered: u64,
    connection: Unbroken,
    /// Interval of heartbeats, if nothing else is delivered.
    beat: Duration,
    /// Name of the consumer, by which it is removed.
    name: String,
    stream: String,
}

/// Delivery of a consumer.
pub(crate) enum ConsumerDelivery {
    /// A message, and its sequence in the stream.
    Message(u64, Message),
    /// Heartbeat.
    Beat,
}

impl StreamConsumer {
    /// Makes a consumer: `which` sets its beginning, and its filter.
    pub(crate) async fn begin(engine: &NatsEngine, stream: &str, which: Value) -> Result<Self, RequestError> {
        let connection = engine.connection();
        let inbox = engine.client.new_inbox();
        let gone = |error: async_nats::SubscribeError| RequestError::NotTaken(error.to_string());
        let messages = engine.client.subscribe(inbox.clone()).await.map_err(gone)?;
        // A short timeout of requests asks for as quick a notice when this consumer's server is gone.
        let beat = Duration::from_millis(limits::STORE_NATS_BEAT_MS).min(engine.timeout / 2);
        let beat_ns = beat.as_nanos() as u64;
        let mut config = json!({
            "deliver_subject": inbox,
            "ack_policy": "none",
            "flow_control": true,
            "idle_heartbeat": beat_ns,
            "inactive_threshold": beat_ns * 10,
            "mem_storage": true,
            "num_replicas": 1,
        });
        if let (Value::Object(config), Value::Object(which)) = (&mut config, which) {
            config.extend(which);
        }
        let request = json!({ "stream_name": stream, "config": config });
        let made = engine.ask(&format!("CONSUMER.CREATE.{stream}"), &request).await?;
        let name = made.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { messages, delivered: 0, connection, beat, name, stream: stream.to_owned() })
    }

    /// Waits for the next delivery; `None` if something may have been missed.
    pub(crate) async fn next(&mut self, engine: &NatsEngine) -> Option<ConsumerDelivery> {
        let silence = self.beat * limits::STORE_NATS_BEATS_MISSED_MAX;
        let message = tokio::select! {
            message = tokio::time::timeout(silence, self.messages.next()) => message.ok()??,
            () = self.connection.broke() => return None,
        };
        if message.status.is_some_and(|status| status.as_u16() == 100) {
            if let Some(reply) = &message.reply {
                engine.client.publish(reply.clone(), Bytes::new()).await.ok()?;
            }
            return Some(ConsumerDelivery::Beat);
        }
        let (sequence, delivered) = sequences(&message)?;
        self.delivered += 1;
        (delivered == self.delivered).then_some(ConsumerDelivery::Message(sequence, message))
    }

    /// Removes the consumer. The engine removes a dropped one after a while.
    pub(crate) async fn end(self, engine: &NatsEngine) {
        let _ = engine.ask(&format!("CONSUMER.DELETE.{}.{}", self.stream, self.name), &Value::Null).await;
    }
}

/// Returns a message's sequence in the stream, and that in its consumer. Both are in its reply subject:
/// `$JS.ACK.STREAM.CONSUMER.TRIES.STREAM-SEQUENCE.CONSUMER-SEQUENCE.TIME.PENDING`, or with two more tokens in front.
fn sequences(message: &Message) -> Option<(u64, u64)> {
    let tokens: Vec<&str> = message.reply.as_ref()?.split('.').collect();
    let start = if tokens.len() > 9 { 7 } else { 5 };
    let number = |index: usize| tokens.get(index)?.parse().ok();
    Some((number(start)?, number(start + 1)?))
}

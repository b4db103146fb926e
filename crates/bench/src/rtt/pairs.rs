//! The two agents of a pair, and what the receiver has to do.

use std::sync::mpsc::Sender as Channel;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Text, Value};
use whimbrel_runtime::behaviour::{Cyclic, Step};
use whimbrel_runtime::{Agent, Context};

/// Characters of random texts.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Characters that one random number is good for.
const CHARS_OF_NUMBER: usize = 10;

/// Returns the number of primes up to `limit`. Each number is divided by all smaller ones until one divides it: the
/// study wants a slow computation.
pub fn primes_to(limit: u32) -> u32 {
    (2..=limit).filter(|number| (2..*number).all(|divisor| number % divisor != 0)).count() as u32
}

/// Random text, as fast as need be (xorshift).
pub struct RandomText(u64);

impl RandomText {
    /// Makes a source of texts; each number gives other texts.
    pub fn new(number: u64) -> Self {
        Self(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a text of this many bytes, which begins with `start` if there is room.
    pub fn text(&mut self, start: &str, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes.max(start.len()));
        text.push_str(start);
        while text.len() < bytes {
            let mut number = self.next();
            for _ in 0..CHARS_OF_NUMBER.min(bytes - text.len()) {
                text.push(char::from(ALPHABET.get((number % 64) as usize).copied().unwrap_or_default()));
                number /= 64;
            }
        }
        text
    }
}

/// Has the primes counted, then answers with their number and random text.
pub struct Receiver {
    pub limit: u32,
    pub bytes: usize,
    pub random: RandomText,
}

impl Agent for Receiver {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative != Performative::Request {
            return;
        }
        let Self { limit, bytes, .. } = *self;
        let mut answer = Some(message.make_reply(ctx.aid(), Performative::Inform));
        // Not kept meanwhile: there may be thousands of them.
        drop(message);
        let counted = ctx.offload(move || i64::from(primes_to(limit)));
        let mut random = RandomText::new(self.random.next());
        ctx.add_behaviour(Cyclic::new(move |ctx| {
            let Some(count) = ctx.receive_matching(&counted) else { return Step::Block };
            if let Some(mut answer) = answer.take() {
                answer.content = random.text(&format!("{} ", count.content), bytes).into();
                ctx.send(answer);
            }
            Step::Done
        }));
    }
}

/// Outcome of one message.
pub enum Trip {
    /// The right answer came, after this many milliseconds.
    Answered(f64),
    /// Another answer came, or word that there is none.
    Lost,
}

/// Sender: sends its receiver a message, and the next one when that is answered. Another agent's message starts it.
pub struct PairSender {
    pub receiver: Aid,
    pub left: u64,
    pub bytes: usize,
    /// Expected beginning of each answer.
    pub expected: String,
    pub random: RandomText,
    /// Time at which all senders were told to begin. The first message is due then, whenever its sender has its turn.
    pub begun: Arc<OnceLock<Instant>>,
    /// Messages sent, and when the last of them was due.
    pub sent: u64,
    pub asked: Instant,
    pub trips: Channel<Trip>,
}

impl PairSender {
    fn ask(&mut self, ctx: &mut Context<'_, '_>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        self.sent += 1;
        // Making the text is no part of the round trip.
        let content = self.random.text("", self.bytes);
        let mut request = AclMessage::new(Performative::Request, ctx.aid(), self.receiver, content);
        request.extras_mut().reply_with = Some(self.ticket());
        self.asked = match self.begun.get().filter(|_| self.sent == 1) {
            Some(begun) => *begun,
            None => Instant::now(),
        };
        ctx.send(request);
    }

    /// Returns the text that the answer to the last message must quote.
    fn ticket(&self) -> Text {
        Text::from(self.sent.to_string())
    }

    fn is_right(&self, answer: &AclMessage) -> bool {
        let Value::Str(content) = &answer.content else { return false };
        answer.performative == Performative::Inform
            && answer.extras().in_reply_to == Some(self.ticket())
            && content.len() == self.bytes.max(self.expected.len())
            && content.starts_with(&self.expected)
    }
}

impl Agent for PairSender {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if self.sent > 0 {
            let ms = self.asked.elapsed().as_secs_f64() * 1_000.0;
            let trip = if self.is_right(&message) { Trip::Answered(ms) } else { Trip::Lost };
            let _ = self.trips.send(trip);
        }
        drop(message);
        self.ask(ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted() {
        assert_eq!([1, 2, 3, 10, 100, 20_000].map(primes_to), [0, 1, 2, 4, 25, 2_262]);
    }

    #[test]
    fn texts_differ_and_have_length() {
        let (mut one, mut other) = (RandomText::new(0), RandomText::new(1));
        let texts = [one.text("25 ", 65_536), one.text("25 ", 65_536), other.text("25 ", 65_536)];
        for text in &texts {
            assert_eq!(text.len(), 65_536);
            assert!(text.starts_with("25 ") && text.is_ascii());
        }
        assert!(texts[0] != texts[1] && texts[0] != texts[2]);
        assert_eq!(one.text("25 ", 2), "25 ");
    }
}

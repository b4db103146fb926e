//! Frames with a message: from JSON to Python's objects, without a tree between.

use std::fmt;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use whimbrel_acl::value::LARGEST_EXACT_INTEGER;

use crate::{JsonCodec, LEVELS_MAX};

pub struct ReadingContext<'py, 'a> {
    pub py: Python<'py>,
    pub codec: &'a JsonCodec,
}

/// Frame with a message, of the plain cases.
pub struct PlainFrame<'py> {
    pub number: u64,
    pub agent: u32,
    pub message: Bound<'py, PyAny>,
}

/// Reads a frame; `None` if it is not one of the plain cases.
pub fn frame<'py>(context: &ReadingContext<'py, '_>, text: &str) -> Option<PlainFrame<'py>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let frame = PlainFrameSeed(context).deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(frame)
}

/// Reason that nobody sees: the package reads the frame again, and finds the error.
fn other<E: Error>() -> E {
    E::custom("not a plain case")
}

fn told<T, E: Error>(result: PyResult<T>) -> Result<T, E> {
    result.map_err(|_| other())
}

struct PlainFrameSeed<'py, 'a>(&'a ReadingContext<'py, 'a>);

impl<'de, 'py> DeserializeSeed<'de> for PlainFrameSeed<'py, '_> {
    type Value = PlainFrame<'py>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<PlainFrame<'py>, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de, 'py> Visitor<'de> for PlainFrameSeed<'py, '_> {
    type Value = PlainFrame<'py>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a frame")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlainFrame<'py>, A::Error> {
        let (mut number, mut agent, mut message, mut is_message) = (None, None, None, false);
        while let Some(name) = map.next_key::<&str>()? {
            match name {
                "type" if !is_message => is_message = map.next_value::<&str>()? == "message",
                "number" if number.is_none() => number = Some(map.next_value::<u64>()?),
                "agent" if agent.is_none() => agent = Some(map.next_value::<u32>()?),
                "message" if message.is_none() && is_message => {
                    message = Some(map.next_value_seed(PyMessageSeed(self.0))?)
                }
                _ => return Err(other()),
            }
        }
        match (number, agent, message) {
            (Some(number), Some(agent), Some(message)) => Ok(PlainFrame { number, agent, message }),
            _ => Err(other()),
        }
    }
}

struct PyMessageSeed<'py, 'a>(&'a ReadingContext<'py, 'a>);

impl<'de, 'py> DeserializeSeed<'de> for PyMessageSeed<'py, '_> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

/// Parameters of a message that are texts, with their attributes' names.
const TEXTS: [&str; 7] =
    ["language", "encoding", "ontology", "protocol", "conversation_id", "reply_with", "in_reply_to"];

impl<'de, 'py> Visitor<'de> for PyMessageSeed<'py, '_> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parts = MessageParts::default();
        while let Some(name) = map.next_key::<&str>()? {
            match name {
                "performative" => parts.performative = Some(map.next_value_seed(PyTextSeed(self.0.py))?),
                "sender" => parts.sender = Some(map.next_value_seed(PyAgentSeed(self.0))?),
                "receivers" => parts.receivers = Some(map.next_value_seed(PyAgentsSeed(self.0))?),
                "content" => parts.content = Some(map.next_value_seed(PyValueSeed { py: self.0.py, level: 0 })?),
                "reply_to" => parts.reply_to = Some(map.next_value_seed(PyAgentsSeed(self.0))?),
                "reply_by_ms" => parts.reply_by_ms = Some(map.next_value::<u64>()?.min(LARGEST_EXACT_INTEGER - 1)),
                _ => {
                    let place = TEXTS.iter().position(|text| *text == name).ok_or_else(other)?;
                    let text = map.next_value_seed(PyTextSeed(self.0.py))?;
                    *parts.texts.get_mut(place).ok_or_else(other)? = Some(text);
                }
            }
        }
        told(parts.into_message(self.0))
    }
}

#[derive(Default)]
struct MessageParts<'py> {
    performative: Option<Bound<'py, PyString>>,
    sender: Option<Bound<'py, PyAny>>,
    receivers: Option<Bound<'py, PyTuple>>,
    content: Option<Bound<'py, PyAny>>,
    reply_to: Option<Bound<'py, PyTuple>>,
    reply_by_ms: Option<u64>,
    texts: [Option<Bound<'py, PyString>>; 7],
}

impl<'py> MessageParts<'py> {
    /// Makes the message, as `message_from_json` of the package does.
    fn into_message(self, context: &ReadingContext<'py, '_>) -> PyResult<Bound<'py, PyAny>> {
        let ReadingContext { py, codec } = *context;
        let class = codec.message.bind(py);
        let performative =
            self.performative.ok_or_else(|| pyo3::exceptions::PyValueError::new_err("no performative"))?;
        let message = class.call_method1(intern!(py, "__new__"), (class,))?;
        let (none, nothing) = (py.None().into_bound(py), PyTuple::empty(py));
        message.setattr(intern!(py, "_agent"), &none)?;
        message.setattr(intern!(py, "_number"), 0)?;
        message.setattr(intern!(py, "_is_answered"), false)?;
        message.setattr(intern!(py, "performative"), performative)?;
        message.setattr(intern!(py, "sender"), self.sender.unwrap_or_else(|| codec.nobody.bind(py).clone()))?;
        message.setattr(intern!(py, "receivers"), self.receivers.as_ref().unwrap_or(&nothing))?;
        message.setattr(intern!(py, "content"), self.content.as_ref().unwrap_or(&none))?;
        message.setattr(intern!(py, "reply_to"), self.reply_to.as_ref().unwrap_or(&nothing))?;
        message.setattr(intern!(py, "reply_by_ms"), self.reply_by_ms)?;
        message.setattr(intern!(py, "user"), &nothing)?;
        let [language, encoding, ontology, protocol, conversation_id, reply_with, in_reply_to] = self.texts;
        message.setattr(intern!(py, "language"), language)?;
        message.setattr(intern!(py, "encoding"), encoding)?;
        message.setattr(intern!(py, "ontology"), ontology)?;
        message.setattr(intern!(py, "protocol"), protocol)?;
        message.setattr(intern!(py, "conversation_id"), conversation_id)?;
        message.setattr(intern!(py, "reply_with"), reply_with)?;
        message.setattr(intern!(py, "in_reply_to"), in_reply_to)?;
        Ok(message)
    }
}

struct PyTextSeed<'py>(Python<'py>);

impl<'de, 'py> DeserializeSeed<'de> for PyTextSeed<'py> {
    type Value = Bound<'py, PyString>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'py> Visitor<'_> for PyTextSeed<'py> {
    type Value = Bound<'py, PyString>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.0, text))
    }
}

struct PyAgentSeed<'py, 'a>(&'a ReadingContext<'py, 'a>);

impl<'de, 'py> DeserializeSeed<'de> for PyAgentSeed<'py, '_> {
    type Value = Bound<'py, PyAny>;

    /// Reads an agent that has only a name.
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        let ReadingContext { py, codec } = *self.0;
        let name = PyTextSeed(py).deserialize(json)?;
        if let Some(known) = told(codec.known.bind(py).get_item(&name))? {
            return Ok(known);
        }
        let agent = told(codec.parse.bind(py).call1((name,)))?;
        if agent.is_none() { Err(other()) } else { Ok(agent) }
    }
}

struct PyAgentsSeed<'py, 'a>(&'a ReadingContext<'py, 'a>);

impl<'de, 'py> DeserializeSeed<'de> for PyAgentsSeed<'py, '_> {
    type Value = Bound<'py, PyTuple>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de, 'py> Visitor<'de> for PyAgentsSeed<'py, '_> {
    type Value = Bound<'py, PyTuple>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("agents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let mut agents = Vec::new();
        while let Some(agent) = all.next_element_seed(PyAgentSeed(self.0))? {
            agents.push(agent);
        }
        told(PyTuple::new(self.0.py, agents))
    }
}

/// Reader of a content value.
#[derive(Clone, Copy)]
struct PyValueSeed<'py> {
    py: Python<'py>,
    level: u32,
}

impl PyValueSeed<'_> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        if self.level >= LEVELS_MAX { Err(other()) } else { Ok(Self { level: self.level + 1, ..self }) }
    }
}

impl<'de, 'py> DeserializeSeed<'de> for PyValueSeed<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for PyValueSeed<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.py, value).to_owned().into_any())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.py, value).into_any())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        i64::try_from(value).map_err(|_| other()).and_then(|value| self.visit_i64(value))
    }

    /// Reads a fraction. A reader in Rust takes `-0`, and integers beyond 64 bits, for fractions, which Python's does
    /// not.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        if value == 0.0 || value.abs() >= LARGEST_EXACT_INTEGER as f64 {
            return Err(other());
        }
        Ok(PyFloat::new(self.py, value).into_any())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.py, value).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let inner = self.inner()?;
        let list = PyList::empty(self.py);
        while let Some(item) = all.next_element_seed(inner)? {
            told(list.append(item))?;
        }
        Ok(list.into_any())
    }

    /// Reads a map with texts as keys, or a whole number that is a fraction.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let value = match map.next_key::<&str>()? {
            Some("map") => map.next_value_seed(PyPairsSeed(self.inner()?))?.into_any(),
            Some("num") => {
                let number = map.next_value::<f64>()?;
                if number == 0.0 || number.abs() >= LARGEST_EXACT_INTEGER as f64 {
                    return Err(other());
                }
                PyFloat::new(self.py, number).into_any()
            }
            _ => return Err(other()),
        };
        if map.next_key::<&str>()?.is_some() { Err(other()) } else { Ok(value) }
    }
}

/// Reader of `[[key, value], ...]` with different texts as keys.
struct PyPairsSeed<'py>(PyValueSeed<'py>);

impl<'de, 'py> DeserializeSeed<'de> for PyPairsSeed<'py> {
    type Value = Bound<'py, PyDict>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de, 'py> Visitor<'de> for PyPairsSeed<'py> {
    type Value = Bound<'py, PyDict>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pairs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let (dict, mut count) = (PyDict::new(self.0.py), 0);
        while let Some((key, value)) = all.next_element_seed(PyPairSeed(self.0.inner()?))? {
            told(dict.set_item(key, value))?;
            count += 1;
        }
        if dict.len() == count { Ok(dict) } else { Err(other()) }
    }
}

struct PyPairSeed<'py>(PyValueSeed<'py>);

/// Key and value.
type Pair<'py> = (Bound<'py, PyString>, Bound<'py, PyAny>);

impl<'de, 'py> DeserializeSeed<'de> for PyPairSeed<'py> {
    type Value = Pair<'py>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de, 'py> Visitor<'de> for PyPairSeed<'py> {
    type Value = Pair<'py>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key with its value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Pair<'py>, A::Error> {
        let key = all.next_element_seed(PyTextSeed(self.0.py))?.ok_or_else(other)?;
        let value = all.next_element_seed(self.0)?.ok_or_else(other)?;
        if all.next_element::<serde::de::IgnoredAny>()?.is_some() { Err(other()) } else { Ok((key, value)) }
    }
}

//! Frames between a node and its Python process: JSON arrays, each behind its length in four bytes, the most
//! significant first. docs/design/python-environments.md describes them.

use whimbrel_acl::codec::json::{value_from_str, value_to_string};
use whimbrel_acl::{Symbol, Value};

use crate::foreign_actions::ForeignFailure;
use crate::limits::PYTHON_FRAME_BYTES_MAX;

/// Version of the protocol. A process that speaks another one is refused.
pub const VERSION: i64 = 1;

/// Frame from the node.
#[derive(Clone, Debug, PartialEq)]
pub enum ToPython {
    /// First frame: the project's folder, and its file of actions, if it has one.
    Hello {
        /// Folder of the project.
        folder: String,
        /// File of actions.
        actions: Option<String>,
    },
    /// Request to load the environment, with the parameters that the project gives.
    Environment {
        /// File of the environment.
        file: String,
        /// Parameters.
        args: Vec<Value>,
    },
    /// Agents that there are now, by name.
    Agents(Vec<String>),
    /// Agent that has ended.
    Gone(String),
    /// Action of an agent on the environment.
    Act {
        /// Number of the request.
        id: u64,
        /// Agent that acts.
        agent: String,
        /// Action, a term.
        action: Value,
    },
    /// Call of a function.
    Call {
        /// Number of the call.
        id: u64,
        /// Agent that calls.
        agent: String,
        /// Name of the function.
        name: String,
        /// Arguments.
        args: Vec<Value>,
        /// Number of wanted solutions; 0 for the first one only.
        most: u32,
    },
    /// Request for further solutions of a call.
    More {
        /// Number of the call.
        id: u64,
        /// Number of wanted solutions.
        most: u32,
    },
    /// Further solutions of a call are not wanted.
    Drop(u64),
    /// Request to end.
    Stop,
}

/// Frame from the Python process.
#[derive(Clone, Debug, PartialEq)]
pub enum FromPython {
    /// First frame: the version of the protocol, that of Python, and that of the SDK.
    Ready {
        /// Version of the protocol.
        version: i64,
        /// Version of Python.
        python: String,
        /// Version of the SDK.
        sdk: String,
    },
    /// The environment cannot be loaded, or has failed; contains the reason.
    Broken(String),
    /// Percepts of an agent: all of them, or changes.
    Percepts {
        /// Agent that perceives.
        agent: String,
        /// True if `added` has all percepts.
        all: bool,
        /// New percepts.
        added: Value,
        /// Percepts that are over.
        removed: Value,
    },
    /// An action is done.
    Done(u64),
    /// An action failed; contains the reason.
    Failed(u64, Value),
    /// Report about an action that is not done yet.
    Progress(u64, Value),
    /// Solutions of a call; true if there may be more.
    Solved(u64, Vec<Vec<Value>>, bool),
    /// A call failed.
    Refused(u64, ForeignFailure),
    /// Line of output, of an agent or of the environment.
    Print(Option<String>, String),
    /// Warning for the operator.
    Warn(String),
    /// Grid to show: its columns, its rows, and its objects, terms such as `wall(X, Y)`.
    Grid(u32, u32, Value),
}

/// Reason why a frame cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PythonFrameError {
    /// The frame is too long.
    #[error("a frame of {0} bytes is longer than {PYTHON_FRAME_BYTES_MAX} bytes")]
    TooLong(usize),
    /// The frame is malformed.
    #[error("malformed frame: {0}")]
    Malformed(String),
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn number(id: u64) -> Value {
    Value::Int(i64::try_from(id).unwrap_or(i64::MAX))
}

fn texts(all: &[String]) -> Value {
    Value::list(all.iter().map(|name| text(name)).collect::<Vec<_>>())
}

impl ToPython {
    fn parts(&self) -> Vec<Value> {
        match self {
            Self::Hello { folder, actions } => {
                let actions = actions.as_deref().map_or(Value::Null, text);
                vec![text("hello"), Value::Int(VERSION), text(folder), actions]
            }
            Self::Environment { file, args } => vec![text("environment"), text(file), Value::list(args.clone())],
            Self::Agents(names) => vec![text("agents"), texts(names)],
            Self::Gone(name) => vec![text("gone"), text(name)],
            Self::Act { id, agent, action } => vec![text("act"), number(*id), text(agent), action.clone()],
            Self::Call { id, agent, name, args, most } => {
                let args = Value::list(args.clone());
                vec![text("call"), number(*id), text(agent), text(name), args, Value::Int((*most).into())]
            }
            Self::More { id, most } => vec![text("more"), number(*id), Value::Int((*most).into())],
            Self::Drop(id) => vec![text("drop"), number(*id)],
            Self::Stop => vec![text("stop")],
        }
    }

    /// Returns the frame as JSON, without its length.
    ///
    /// # Errors
    /// A value nests too deep, or the frame is too long; contains the reason.
    pub fn to_json(&self) -> Result<String, String> {
        let json = value_to_string(&Value::list(self.parts())).map_err(|error| error.to_string())?;
        if json.len() > PYTHON_FRAME_BYTES_MAX {
            return Err(PythonFrameError::TooLong(json.len()).to_string());
        }
        Ok(json)
    }
}

/// Checks the length of a frame, as it stands before the frame.
///
/// # Errors
/// The frame is too long.
pub fn frame_length(bytes: [u8; 4]) -> Result<usize, PythonFrameError> {
    let length = u32::from_be_bytes(bytes) as usize;
    if length > PYTHON_FRAME_BYTES_MAX { Err(PythonFrameError::TooLong(length)) } else { Ok(length) }
}

/// Puts the length of a frame in front of it.
pub fn framed(json: &str) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), json.as_bytes()].concat()
}

/// Reads a frame without its length.
///
/// # Errors
/// The frame is malformed.
pub fn decode(bytes: &[u8]) -> Result<FromPython, PythonFrameError> {
    let malformed = |what: &str| PythonFrameError::Malformed(what.to_owned());
    let json = std::str::from_utf8(bytes).map_err(|error| malformed(&error.to_string()))?;
    let frame = value_from_str(json).map_err(|error| malformed(&error.to_string()))?;
    let items: Vec<&Value> = frame.items().collect();
    let kind = items.first().and_then(|kind| kind.as_str()).ok_or_else(|| malformed("it is no list with a name"))?;
    read(kind, items.get(1..).unwrap_or_default()).ok_or_else(|| malformed(&format!("unknown frame `{kind}`")))
}

fn read(kind: &str, parts: &[&Value]) -> Option<FromPython> {
    Some(match (kind, parts) {
        ("ready", [Value::Int(version), Value::Str(python), Value::Str(sdk)]) => {
            FromPython::Ready { version: *version, python: python.to_string(), sdk: sdk.to_string() }
        }
        ("broken", [Value::Str(why)]) => FromPython::Broken(why.to_string()),
        ("percepts", [Value::Str(agent), Value::Bool(all), added, removed]) if added.is_list() && removed.is_list() => {
            let (added, removed) = ((*added).clone(), (*removed).clone());
            FromPython::Percepts { agent: agent.to_string(), all: *all, added, removed }
        }
        ("done", [id]) => FromPython::Done(id_of(id)?),
        ("failed", [id, reason]) => FromPython::Failed(id_of(id)?, (*reason).clone()),
        ("progress", [id, report]) => FromPython::Progress(id_of(id)?, (*report).clone()),
        ("solved", [id, solutions, Value::Bool(more)]) if solutions.is_list() => {
            let solutions = solutions.items().map(|one| one.is_list().then(|| one.items().cloned().collect()));
            FromPython::Solved(id_of(id)?, solutions.collect::<Option<_>>()?, *more)
        }
        ("refused", [id, Value::Str(error), Value::Str(message), annots]) if annots.is_list() => {
            let annots = annots.items().cloned().collect();
            let failure = ForeignFailure { error: Symbol::new(error), message: message.to_string(), annots };
            FromPython::Refused(id_of(id)?, failure)
        }
        ("print", [Value::Null, Value::Str(text)]) => FromPython::Print(None, text.to_string()),
        ("print", [Value::Str(agent), Value::Str(text)]) => {
            FromPython::Print(Some(agent.to_string()), text.to_string())
        }
        ("warn", [Value::Str(text)]) => FromPython::Warn(text.to_string()),
        ("grid", [Value::Int(columns), Value::Int(rows), objects]) if objects.is_list() => {
            FromPython::Grid(u32::try_from(*columns).ok()?, u32::try_from(*rows).ok()?, (*objects).clone())
        }
        _ => return None,
    })
}

fn id_of(value: &Value) -> Option<u64> {
    match value {
        Value::Int(id) => u64::try_from(*id).ok(),
        _ => None,
    }
}

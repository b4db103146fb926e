//! Accelerator of the Python SDK: reads frames with a message in JSON, and writes messages as JSON.
//!
//! The accelerator knows the plain cases only. For all else, errors among them, it returns `None`, and the package
//! `whimbrel` does the work itself. So both have the same results.

mod read;
mod write;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// Levels of nested values beyond which the package does the work itself.
const LEVELS_MAX: u32 = 32;

/// Reader and writer of messages in JSON.
#[pyclass(frozen)]
struct JsonCodec {
    /// Class `Message` of the package.
    message: Py<PyType>,
    /// Sender of a message without a sender.
    nobody: Py<PyAny>,
    /// Agents by their names.
    known: Py<PyDict>,
    /// Function that makes an agent of a name; `None` if the text is no name.
    parse: Py<PyAny>,
}

#[pymethods]
impl JsonCodec {
    #[new]
    fn new(message: Py<PyType>, nobody: Py<PyAny>, known: Py<PyDict>, parse: Py<PyAny>) -> Self {
        Self { message, nobody, known, parse }
    }

    /// Reads a frame with a message; `None` if the package has to read it.
    fn read_frame<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Ok(text) = std::str::from_utf8(data) else { return Ok(None) };
        let Some(frame) = read::frame(&read::ReadingContext { py, codec: self }, text) else { return Ok(None) };
        let result = PyDict::new(py);
        result.set_item(intern!(py, "type"), intern!(py, "message"))?;
        result.set_item(intern!(py, "number"), frame.number)?;
        result.set_item(intern!(py, "agent"), frame.agent)?;
        result.set_item(intern!(py, "message"), frame.message)?;
        let characters = if text.is_ascii() { text.len() } else { text.chars().count() };
        result.set_item(intern!(py, "bytes"), characters * 4)?;
        Ok(Some(result))
    }

    /// Writes a message; `None` if the package has to write it.
    fn write_message(&self, message: &Bound<'_, PyAny>) -> Option<String> {
        write::message(message, self.nobody.bind(message.py()))
    }
}

/// Accelerator of the package `whimbrel`.
#[pymodule]
fn whimbrel_fast(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<JsonCodec>()
}

//! Frames: messages and values as guests read and write them. Frames are little-endian, without padding or
//! dictionary. A guest in any language needs a page of code for them (docs/design/wasm-agents.md, Frames).

mod message;
mod read;
mod value;

pub use message::{GuestFrameWriter, read_message, read_template, write_message};
pub use read::GuestFrameError;
pub use value::{TooDeep, read_value, write_value};

/// Numbers of the fields of a message frame.
mod field {
    pub const SENDER: u8 = 1;
    pub const RECEIVER: u8 = 2;
    pub const CONTENT: u8 = 3;
    pub const CONVERSATION_ID: u8 = 4;
    pub const REPLY_WITH: u8 = 5;
    pub const IN_REPLY_TO: u8 = 6;
    pub const ONTOLOGY: u8 = 7;
    pub const LANGUAGE: u8 = 8;
    pub const PROTOCOL: u8 = 9;
    pub const ENCODING: u8 = 10;
    pub const REPLY_BY: u8 = 11;
    pub const REPLY_TO: u8 = 12;
    pub const PERFORMATIVE: u8 = 13;
    pub const USER: u8 = 14;
}

/// First bytes of a frame that are no number of a FIPA performative.
mod act {
    /// The performative is in a field. In a template, the next byte stands for any performative.
    pub const NAMED: u8 = 254;
}

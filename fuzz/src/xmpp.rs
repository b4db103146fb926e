//! Properties of a connection to an XMPP server, for any bytes of the server. The fuzz target looks for violations; a
//! test of `whimbrel-interop` replays those that were found.

use whimbrel_acl::Symbol;
use whimbrel_interop::xmpp::{
    ComponentEvent, Residents, StanzaReader, StreamItem, XmlElement, XmppComponent, read_message, write_message,
};

const BEGIN: &[u8] = b"<stream:stream xmlns='jabber:component:accept' xmlns:stream='s' id='1'><handshake/>";

struct AnybodyButEve;

impl Residents for AnybodyButEve {
    fn find(&mut self, name: &str) -> Option<Symbol> {
        (name != "eve").then(|| Symbol::new("bob"))
    }
}

/// A component takes any bytes. What it sends in answer is a stream of stanzas, however the bytes are cut. Messages
/// that come can be written again, and are the same then.
pub fn xmpp_stream(bytes: &[u8]) {
    let whole = fed(&[BEGIN, bytes]);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(fed(&[BEGIN, first, second]), whole);
    let mut reader = StanzaReader::default();
    reader.handle_bytes(whole.as_bytes());
    while let Some(item) = reader.poll_item().expect("what is sent is a stream") {
        let StreamItem::Stanza(stanza) = item else { continue };
        let mut text = String::new();
        stanza.write("", &mut text);
        assert!(XmlElement::read(&text).is_ok());
    }
}

/// Feeds a component, and returns what it sends.
fn fed(parts: &[&[u8]]) -> String {
    let mut component = XmppComponent::new("whimbrel.localhost", "secret");
    component.handle_connected();
    let mut sent = String::new();
    for part in parts {
        component.handle_bytes(part, &mut AnybodyButEve);
        sent += &component.poll_output().unwrap_or_default();
        while let Some(event) = component.poll_event() {
            if let ComponentEvent::Came(message) = event {
                let (sender, receiver) = (message.body.sender, message.to);
                let mut written = String::new();
                let children = write_message(&message.body, receiver, sender.platform.as_str());
                XmlElement { children, ..XmlElement::new("message") }.write("", &mut written);
                let stanza = XmlElement::read(&written).expect("what is written can be read");
                let again = write_message(&read_message(&stanza, sender, receiver), receiver, sender.platform.as_str());
                assert_eq!(again, write_message(&message.body, receiver, sender.platform.as_str()));
            }
        }
    }
    sent
}

/// Seeds: stanzas of Prosody and of SPADE.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/xmpp_stream");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read(file.path()).ok()).collect()
}

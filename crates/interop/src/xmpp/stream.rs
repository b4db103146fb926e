//! Stream of stanzas: bytes of an endless XML document, cut where its elements end.

use whimbrel_platform::limits::{XMPP_LEVELS_MAX, XMPP_STANZA_BYTES_MAX};

use super::element::{StanzaError, XmlElement};

/// Part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem {
    /// Begin of the stream: its element, still open.
    Begin(XmlElement),
    /// A stanza, or an error of the stream.
    Stanza(XmlElement),
    /// End of the stream.
    End,
}

/// Reader of a stream.
///
/// Inputs are the bytes as they come ([`StanzaReader::handle_bytes`]). Outputs are the items that are whole
/// ([`StanzaReader::poll_item`]); poll until there is none. After an error the stream cannot be read further.
#[derive(Debug, Default)]
pub struct StanzaReader {
    bytes: Vec<u8>,
    /// Bytes that were looked at, from the begin of `bytes`.
    seen: usize,
    /// Begin of the tag that is being read, or of the quoted text in it.
    inside: Inside,
    /// Open elements, the stream's own included.
    levels: usize,
    /// Namespace of stanzas.
    namespace: String,
}

/// Place of a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Text,
    /// A tag that began at this byte.
    Tag(usize),
    /// A value in such quotes, in a tag that began at this byte.
    Quotes(u8, usize),
}

impl StanzaReader {
    /// Takes bytes of the stream.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next item, if it is whole.
    ///
    /// # Errors
    /// The bytes are no stream of stanzas, or a stanza is too large.
    pub fn poll_item(&mut self) -> Result<Option<StreamItem>, StanzaError> {
        while let Some(&byte) = self.bytes.get(self.seen) {
            self.seen += 1;
            match (self.inside, byte) {
                (Inside::Text, b'<') => self.inside = Inside::Tag(self.seen - 1),
                (Inside::Text, _) if self.levels <= 1 && !byte.is_ascii_whitespace() => {
                    return Err(StanzaError::malformed("text between stanzas"));
                }
                (Inside::Tag(begin), b'"' | b'\'') => self.inside = Inside::Quotes(byte, begin),
                (Inside::Quotes(quote, begin), _) if byte == quote => self.inside = Inside::Tag(begin),
                (Inside::Tag(begin), b'>') => {
                    self.inside = Inside::Text;
                    if let Some(item) = self.handle_tag(begin)? {
                        return Ok(Some(item));
                    }
                }
                _ => {}
            }
        }
        if self.levels <= 1 && self.inside == Inside::Text {
            // Nothing but white space, which keeps connections alive.
            self.forget();
        }
        if self.bytes.len() > XMPP_STANZA_BYTES_MAX {
            return Err(StanzaError::TooLarge("bytes"));
        }
        Ok(None)
    }

    /// Handles the tag from `begin` to the last byte that was seen.
    fn handle_tag(&mut self, begin: usize) -> Result<Option<StreamItem>, StanzaError> {
        let tag = self.bytes.get(begin..self.seen).unwrap_or_default();
        match tag {
            [b'<', b'?', ..] if self.levels == 0 => {
                self.forget();
                Ok(None)
            }
            [b'<', b'?' | b'!', ..] => {
                Err(StanzaError::malformed("XMPP permits no comments, declarations and instructions"))
            }
            [b'<', b'/', ..] if self.levels == 1 => {
                self.levels = 0;
                Ok(Some(StreamItem::End))
            }
            [b'<', b'/', ..] => {
                self.levels =
                    self.levels.checked_sub(1).ok_or_else(|| StanzaError::malformed("an end without begin"))?;
                if self.levels == 1 { self.stanza().map(Some) } else { Ok(None) }
            }
            [.., b'/', b'>'] => match self.levels {
                0 => Err(StanzaError::malformed("a stream ends where it begins")),
                1 => self.stanza().map(Some),
                _ => Ok(None),
            },
            _ if self.levels == 0 => self.begin(begin).map(Some),
            _ if self.levels > XMPP_LEVELS_MAX => Err(StanzaError::TooLarge("elements in elements")),
            _ => {
                self.levels += 1;
                Ok(None)
            }
        }
    }

    /// Reads the tag that begins the stream.
    fn begin(&mut self, begin: usize) -> Result<StreamItem, StanzaError> {
        let tag = self.bytes.get(begin..self.seen - 1).unwrap_or_default();
        let text = std::str::from_utf8(tag).map_err(|_| StanzaError::malformed("not UTF-8"))?;
        let element = XmlElement::read(&format!("{text}/>"))?;
        self.namespace = default_namespace(text);
        self.levels = 1;
        self.forget();
        Ok(StreamItem::Begin(element))
    }

    /// Reads the stanza that ends here.
    fn stanza(&mut self) -> Result<StreamItem, StanzaError> {
        if self.seen > XMPP_STANZA_BYTES_MAX {
            return Err(StanzaError::TooLarge("bytes"));
        }
        let bytes = self.bytes.get(..self.seen).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| StanzaError::malformed("not UTF-8"))?;
        let mut element = XmlElement::read(text)?;
        if element.namespace.is_empty() {
            element.namespace.clone_from(&self.namespace);
        }
        self.forget();
        Ok(StreamItem::Stanza(element))
    }

    /// Forgets the bytes that were seen.
    fn forget(&mut self) {
        self.bytes.drain(..self.seen);
        self.seen = 0;
    }
}

/// Returns the namespace that the begin of a stream declares for its stanzas.
fn default_namespace(tag: &str) -> String {
    let declared = [" xmlns='", " xmlns=\""].iter().find_map(|start| tag.split_once(start));
    declared.and_then(|(_, rest)| rest.split(['\'', '"']).next()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<?xml version='1.0'?><stream:stream xmlns:stream='http://etherx.jabber.org/streams' \
                         xmlns='jabber:component:accept' id='3BF96D32' from='w.localhost'>";

    fn items(bytes: &[u8], step: usize) -> Result<Vec<StreamItem>, StanzaError> {
        let (mut reader, mut items) = (StanzaReader::default(), Vec::new());
        for part in bytes.chunks(step) {
            reader.handle_bytes(part);
            while let Some(item) = reader.poll_item()? {
                items.push(item);
            }
        }
        Ok(items)
    }

    #[test]
    fn stream_is_cut_at_stanzas() {
        let rest = "<handshake/> \n<message to='a&gt;b' x=\"/>'\"><body>1 &lt; 2</body><b><c/></b></message>\
                    <stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>";
        let text = format!("{BEGIN}{rest}");
        let whole = items(text.as_bytes(), text.len()).expect("a stream");
        for step in [1, 2, 7, 64] {
            assert_eq!(items(text.as_bytes(), step).as_ref(), Ok(&whole));
        }
        let [
            StreamItem::Begin(begin),
            StreamItem::Stanza(handshake),
            StreamItem::Stanza(message),
            error,
            StreamItem::End,
        ] = whole.as_slice()
        else {
            panic!("{whole:?}")
        };
        assert_eq!((begin.attribute("id"), begin.name.as_str()), (Some("3BF96D32"), "stream"));
        assert_eq!((handshake.name.as_str(), handshake.namespace.as_str()), ("handshake", "jabber:component:accept"));
        assert_eq!(message.child("body").map(|body| body.text.as_str()), Some("1 < 2"));
        assert_eq!((message.attribute("to"), message.attribute("x")), (Some("a>b"), Some("/>'")));
        assert!(matches!(error, StreamItem::Stanza(error) if error.name == "error"));
    }

    #[test]
    fn bad_streams_are_refused() {
        for rest in ["text", "<!-- c -->", "<a><?php?></a>", "<a>\u{0}</a><b>&c;</b>", "<a></b>"] {
            assert!(items(format!("{BEGIN}{rest}").as_bytes(), 8).is_err(), "{rest}");
        }
        assert!(items(b"<stream:stream/>", 8).is_err());
        assert!(items(&[BEGIN.as_bytes(), b"<a>\xff</a>"].concat(), 8).is_err());
        let long = format!("{BEGIN}<a>{}", "x".repeat(XMPP_STANZA_BYTES_MAX));
        assert_eq!(items(long.as_bytes(), 65_536), Err(StanzaError::TooLarge("bytes")));
    }
}

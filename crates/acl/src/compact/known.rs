//! Static dictionary of both ends: the words of FIPA's specifications, and the shapes of the objects that the AMS and
//! the DF exchange. Part of the format: entries are never changed or removed, and new ones go to the end.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// Names of languages, protocols, ontologies, roles; their place is their number.
pub(super) const TEXTS: &[&str] = &[
    "fipa-request",
    "fipa-contract-net",
    "fipa-query",
    "fipa-subscribe",
    "fipa-propose",
    "fipa-request-when",
    "fipa-iterated-contract-net",
    "fipa-brokering",
    "fipa-recruiting",
    "fipa-auction-english",
    "fipa-auction-dutch",
    "fipa-sl",
    "fipa-sl0",
    "fipa-sl1",
    "fipa-sl2",
    "FIPA-Agent-Management",
    "fipa-agent-management",
    "source",
    "self",
    "percept",
    "json",
    "agentspeak",
    "whimbrel",
    "utf-8",
    "action",
    "done",
    "result",
    "set",
    "sequence",
    "register",
    "deregister",
    "modify",
    "search",
    "datetime",
    "duration",
    "active",
    "suspended",
    "waiting",
    "ams",
    "df",
    "name",
    "type",
    "value",
    "content",
];

/// Shape that both ends know: its name and its fields, of which an object may have any.
pub(super) struct KnownShape {
    pub(super) name: &'static str,
    pub(super) fields: &'static [&'static str],
}

/// The frames of FIPA00023 6.1, the parameters of an ACL message (FIPA00061) and of an envelope (FIPA00067).
pub(super) const SHAPES: &[KnownShape] = &[
    KnownShape { name: "agent-identifier", fields: &["name", "addresses", "resolvers"] },
    KnownShape {
        name: "df-agent-description",
        fields: &["name", "services", "protocols", "ontologies", "languages", "lease-time", "scope"],
    },
    KnownShape {
        name: "service-description",
        fields: &["name", "type", "protocols", "ontologies", "languages", "ownership", "properties"],
    },
    KnownShape { name: "property", fields: &["name", "value"] },
    KnownShape { name: "search-constraints", fields: &["max-depth", "max-results", "search-id"] },
    KnownShape { name: "ams-agent-description", fields: &["name", "ownership", "state"] },
    KnownShape { name: "ap-description", fields: &["name", "ap-services"] },
    KnownShape { name: "ap-service", fields: &["name", "type", "addresses"] },
    KnownShape {
        name: "acl-message",
        fields: &[
            "performative",
            "sender",
            "receiver",
            "reply-to",
            "content",
            "language",
            "encoding",
            "ontology",
            "protocol",
            "conversation-id",
            "reply-with",
            "in-reply-to",
            "reply-by",
        ],
    },
    KnownShape {
        name: "envelope",
        fields: &[
            "to",
            "from",
            "comments",
            "acl-representation",
            "payload-length",
            "payload-encoding",
            "date",
            "intended-receiver",
            "received",
            "transport-behaviour",
        ],
    },
    KnownShape { name: "received-object", fields: &["by", "from", "date", "id", "via"] },
];

static NUMBERS: LazyLock<FxHashMap<&'static str, u32>> =
    LazyLock::new(|| TEXTS.iter().zip(0..).map(|(text, number)| (*text, number)).collect());

/// Bytes of the longest known text.
const TEXT_BYTES_MAX: usize = longest(TEXTS);

const fn longest(texts: &[&str]) -> usize {
    let [first, rest @ ..] = texts else { return 0 };
    let others = longest(rest);
    if first.len() > others { first.len() } else { others }
}

/// Returns the number of a known text.
pub(super) fn text_number(text: &str) -> Option<u32> {
    if text.len() > TEXT_BYTES_MAX { None } else { NUMBERS.get(text).copied() }
}

/// Returns the known shape an object has, and which of its fields, as bits; `None` if the fields are not in the shape's
/// order.
pub(super) fn shape_number<'a>(name: &str, fields: impl Iterator<Item = &'a str>) -> Option<(u64, u64)> {
    let (number, shape) = (0..).zip(SHAPES).find(|(_, shape)| shape.name == name)?;
    let mut mask = 0;
    let mut rest = shape.fields.iter().enumerate();
    for field in fields {
        let (place, _) = rest.by_ref().find(|(_, known)| **known == field)?;
        mask |= 1 << place;
    }
    Some((number, mask))
}

//! SPADE's messages: a body, a thread and metadata in a data form (XEP-0004), as ACL messages and back.
//!
//! Metadata are parameters of the same name; others are `X-` parameters. What these cannot say, such as a content that
//! is no text, is in the metadata `whimbrel`: the whole message in our JSON encoding. SPADE's agents ignore it, and
//! another platform of Whimbrel reads it. So nothing is lost between two of them.

use whimbrel_acl::{AclMessage, Aid, Encoding, Performative, Symbol, Text, Value, sym};

use super::element::{XmlElement, is_writable, shown};
use super::moment;
use crate::kqml::fipa_of;

/// Namespace of data forms.
const FORMS: &str = "jabber:x:data";
/// Title of a form with metadata.
const TITLE: &str = "spade:x:metadata";
/// Metadata with the thread, and the one that spade-fipaproto uses instead.
const THREAD: &str = "_thread_node";
const CONVERSATION: &str = "conversation-id";
/// Metadata with the whole message.
const WHOLE: &str = "whimbrel";

/// Performatives by the names of spade-fipaproto.
const ALIASES: [(&str, &str); 3] =
    [("call-for-proposal", "cfp"), ("refuse-proposal", "reject-proposal"), ("query", "query-ref")];

/// Reads the message in a stanza. Sender and receiver are those of the stanza.
pub fn read(stanza: &XmlElement, sender: Aid, receiver: Aid) -> AclMessage {
    let body = stanza.child("body").map_or("", |body| body.text.as_str());
    let fields: Vec<(&str, &str)> = metadata(stanza).collect();
    let whole = fields.iter().find(|(name, _)| *name == WHOLE).and_then(|(_, json)| {
        let whole = Encoding::Json.decode(json.as_bytes()).ok()?;
        Some(AclMessage { sender, ..whole }).filter(|whole| says(whole, body, &fields))
    });
    whole.unwrap_or_else(|| read_plain(stanza, body, &fields, sender, receiver))
}

/// Checks whether a whole message says what the stanza says. It does not if an agent of SPADE copied the metadata of a
/// question into its answer, as `make_reply` does.
fn says(whole: &AclMessage, body: &str, fields: &[(&str, &str)]) -> bool {
    let expected = parameters(whole, whole.sender.platform.as_str());
    let mut others = fields.iter().filter(|(name, _)| *name != WHOLE);
    let is_same = |(name, value): &(String, String)| {
        others.next().is_some_and(|(other, said)| *other == shown(name) && *said == shown(value))
    };
    body == shown(&body_of(&whole.content)) && expected.iter().all(is_same) && others.next().is_none()
}

/// Reads a message from what SPADE says.
fn read_plain(stanza: &XmlElement, body: &str, fields: &[(&str, &str)], sender: Aid, receiver: Aid) -> AclMessage {
    let mut message = AclMessage::new(Performative::Inform, sender, receiver, Value::from(body));
    let mut thread = stanza.child("thread").map(|thread| thread.text.as_str());
    for (name, value) in fields {
        match *name {
            THREAD => thread = Some(value),
            CONVERSATION => thread = thread.or(Some(value)),
            WHOLE => {}
            _ => set(&mut message, name, value),
        }
    }
    if let Some(thread) = thread.filter(|thread| !thread.is_empty()) {
        message.extras_mut().conversation_id = Some(Text::from(thread));
    }
    message
}

/// Returns the metadata of a stanza, in their order.
fn metadata(stanza: &XmlElement) -> impl Iterator<Item = (&str, &str)> {
    let is_form = |child: &&XmlElement| {
        child.name == "x" && child.namespace == FORMS && child.child("title").is_some_and(|title| title.text == TITLE)
    };
    let fields = stanza.children.iter().filter(is_form).flat_map(|form| &form.children);
    fields.filter(|field| field.name == "field").filter_map(|field| {
        let value = field.child("value").map_or("", |value| value.text.as_str());
        Some((field.attribute("var")?, value))
    })
}

/// Sets the parameter that metadata name.
fn set(message: &mut AclMessage, name: &str, value: &str) {
    if name == "performative" {
        let known = ALIASES.iter().find(|(alias, _)| *alias == value).map_or(value, |(_, known)| *known);
        if !known.is_empty() {
            message.performative = Performative::named(Symbol::new(known));
        }
        return;
    }
    let extras = message.extras_mut();
    let (symbol, text) = (|| Some(Symbol::new(value)), || Some(Text::from(value)));
    match name {
        _ if value.is_empty() => {}
        "language" => extras.language = symbol(),
        "encoding" => extras.encoding = symbol(),
        "ontology" => extras.ontology = symbol(),
        "protocol" => extras.protocol = symbol(),
        "reply-with" => extras.reply_with = text(),
        "in-reply-to" => extras.in_reply_to = text(),
        "reply-by" if moment::read(value).is_some() => extras.reply_by_ms = moment::read(value),
        "reply-to" if agents(value).is_some() => extras.reply_to = agents(value).into_iter().flatten().collect(),
        _ => extras.user.push((Symbol::new(&format!("X-{name}")), Value::from(value))),
    }
}

/// Reads addresses with spaces between them.
fn agents(text: &str) -> Option<Vec<Aid>> {
    text.split(' ').map(|one| one.parse::<super::Jid>().ok()?.agent()).collect()
}

/// Writes a message as the children of a stanza to `receiver`. `domain` is that of the agents here. KQML's
/// performatives become FIPA's.
pub fn write(message: &AclMessage, receiver: Aid, domain: &str) -> Vec<XmlElement> {
    let message = &AclMessage { performative: fipa_of(message.performative), ..message.clone() };
    let mut fields = parameters(message, domain);
    let body = body_of(&message.content);
    let plain = stanza(&fields, &body);
    let read = read(&XmlElement { children: plain.clone(), ..XmlElement::default() }, message.sender, receiver);
    if read == *message
        && is_writable(&body)
        && fields.iter().all(|(name, value)| is_writable(name) && is_writable(value))
    {
        return plain;
    }
    if let Some(whole) = Encoding::Json.encode(message).ok().and_then(|json| String::from_utf8(json).ok()) {
        // XML has no such characters, and JSON has them in texts only.
        fields.push((WHOLE.to_owned(), whole.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")));
    }
    stanza(&fields, &body)
}

/// Returns a content or parameter as text: one that is no text as people write it.
fn body_of(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        content => content.as_str().map_or_else(|| content.to_string(), str::to_owned),
    }
}

/// Returns the metadata that say a message's parameters.
fn parameters(message: &AclMessage, domain: &str) -> Vec<(String, String)> {
    let extras = message.extras();
    let mut fields = vec![("performative".to_owned(), message.performative.as_str().to_owned())];
    let mut add = |name: &str, value: Option<&str>| {
        fields.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    };
    let thread = extras.conversation_id.as_deref();
    for name in [THREAD, CONVERSATION] {
        add(name, thread);
    }
    let words = [
        ("language", extras.language),
        ("encoding", extras.encoding),
        ("ontology", extras.ontology),
        ("protocol", extras.protocol),
    ];
    for (name, word) in words {
        add(name, word.map(Symbol::as_str));
    }
    add("reply-with", extras.reply_with.as_deref());
    add("in-reply-to", extras.in_reply_to.as_deref());
    add("reply-by", extras.reply_by_ms.map(moment::written).as_deref());
    let jid = |agent: &Aid| {
        let home = if agent.platform == sym::EMPTY { domain } else { agent.platform.as_str() };
        super::Jid::of_agent(agent.name.as_str(), home).to_string()
    };
    let reply_to: Vec<String> = extras.reply_to.iter().map(jid).collect();
    add("reply-to", Some(reply_to.join(" ")).filter(|text| !text.is_empty()).as_deref());
    for (name, value) in &extras.user {
        let name = name.as_str().strip_prefix("X-").unwrap_or(name.as_str());
        add(name, Some(&body_of(value)));
    }
    fields
}

/// Returns the children of a stanza with these metadata.
fn stanza(fields: &[(String, String)], body: &str) -> Vec<XmlElement> {
    let form = XmlElement::of("x", FORMS).with("type", "form").containing(XmlElement::new("title").saying(TITLE));
    let form = fields.iter().fold(form, |form, (name, value)| {
        let field = XmlElement::new("field").with("var", name).with("type", "text-single");
        form.containing(field.containing(XmlElement::new("value").saying(value)))
    });
    let thread =
        fields.iter().find(|(name, _)| name == THREAD).map(|(_, value)| XmlElement::new("thread").saying(value));
    std::iter::once(XmlElement::new("body").saying(body)).chain(thread).chain([form]).collect()
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Extras;
    use whimbrel_testkit::generators;

    use super::*;

    const FROM_SPADE: &str = "<message type='chat' from='buyer@localhost/R' to='seller@w.localhost' id='7'>\
        <body>hello</body><x xmlns='jabber:x:data' type='form'><title>spade:x:metadata</title>\
        <field var='performative' type='text-single'><value>call-for-proposal</value></field>\
        <field var='ontology'><value>trade</value></field><field var='colour'><value>red</value></field>\
        <field var='reply-by'><value>2026-11-28T10:00:00</value></field>\
        <field var='_thread_node' type='text-single'><value>conv-1</value></field></x></message>";

    fn read_back(message: &AclMessage, receiver: Aid) -> AclMessage {
        let domain = message.sender.platform.as_str();
        let written = XmlElement { children: write(message, receiver, domain), ..XmlElement::new("message") };
        let mut text = String::new();
        written.write("", &mut text);
        read(&XmlElement::read(&text).unwrap(), message.sender, receiver)
    }

    #[test]
    fn message_of_spade_is_read() {
        let (buyer, seller) = (Aid::new("buyer", "localhost"), Aid::local("seller"));
        let message = read(&XmlElement::read(FROM_SPADE).unwrap(), buyer, seller);
        assert_eq!((message.performative, message.content.as_str()), (Performative::Cfp, Some("hello")));
        let extras = message.extras();
        assert_eq!(extras.conversation_id.as_deref(), Some("conv-1"));
        assert_eq!(extras.ontology.map(Symbol::as_str), Some("trade"));
        assert_eq!(extras.reply_by_ms, Some(1_795_860_000_000));
        assert_eq!(extras.user, [(Symbol::new("X-colour"), Value::from("red"))]);
    }

    #[test]
    fn plain_message_needs_nothing_else() {
        let message = AclMessage::new(Performative::Request, Aid::local("ada"), Aid::new("bob", "localhost"), "hi")
            .in_conversation("c-1")
            .with_protocol("fipa-request")
            .with_reply_with("r-1")
            .with_reply_by_ms(1_795_860_000_123);
        let written = write(&message, message.receivers[0], "w.localhost");
        let names: Vec<&str> = metadata_names(&written);
        assert_eq!(
            names,
            ["performative", "_thread_node", "conversation-id", "protocol", "reply-with", "reply-by"],
            "{written:?}"
        );
        assert_eq!(read_back(&message, message.receivers[0]), message);
    }

    #[test]
    fn copied_metadata_do_not_hide_answer() {
        let (seller, buyer) = (Aid::new("seller", "w.localhost"), Aid::new("buyer", "localhost"));
        let question = AclMessage::new(Performative::Cfp, seller, buyer, Value::term("price", [Value::from(7.0)]));
        let mut answer = XmlElement { children: write(&question, buyer, "w.localhost"), ..XmlElement::new("message") };
        assert_eq!(read(&answer, seller, buyer).content, question.content);
        answer.children[0].text = "9".to_owned();
        assert_eq!(read(&answer, buyer, seller).content.as_str(), Some("9"));
    }

    fn metadata_names(children: &[XmlElement]) -> Vec<&str> {
        let form = children.iter().find(|child| child.name == "x").expect("a form");
        form.children.iter().filter_map(|field| field.attribute("var")).collect()
    }

    proptest::proptest! {
        #[test]
        fn any_message_is_read_back(mut message in generators::message()) {
            // No parameters are the same as parameters that are not set.
            message.extras = message.extras.filter(|extras| **extras != Extras::default());
            message.performative = fipa_of(message.performative);
            let receiver = message.receivers.first().copied().unwrap_or(Aid::new("bob", "localhost"));
            proptest::prop_assert_eq!(read_back(&message, receiver), message);
        }
    }
}

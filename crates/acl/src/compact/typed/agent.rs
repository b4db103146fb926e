//! Agents as fields of Rust types: their names, and how to reach them if that is known.

use super::{Decode, Encode, Reader, Result, Writer};
use crate::compact::tags;
use crate::{Aid, Contact, Symbol};

/// A list of the two parts of its name, and, if they are known, of addresses, resolvers and parameters.
impl Encode for Aid {
    fn encode(&self, w: &mut Writer<'_>) {
        let Contact { addresses, resolvers, user } = self.contact();
        let is_plain = addresses.is_empty() && resolvers.is_empty() && user.is_empty();
        w.list(if is_plain { 2 } else { 5 });
        w.nested(|w| {
            self.name.encode(w);
            self.platform.encode(w);
            if !is_plain {
                String::encode_list(addresses, w);
                Self::encode_list(resolvers, w);
                Encode::encode(user, w);
            }
        });
    }

    fn same(&self, other: &Self) -> bool {
        self == other && self.contact() == other.contact()
    }
}

impl Decode for Aid {
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        super::repeat_clones(self, count, out)
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        let parts = r.byte()?;
        if parts != tags::SHORT_LIST + 2 && parts != tags::SHORT_LIST + 5 {
            return Err(r.mismatch("an agent"));
        }
        r.nested(|r| {
            let name = Symbol::decode(r)?;
            let agent = Self::new(name, Symbol::decode(r)?);
            if parts == tags::SHORT_LIST + 2 {
                return Ok(agent);
            }
            let (addresses, resolvers) = (String::decode_list(r)?, Self::decode_list(r)?);
            Ok(agent.with_contact(Contact { addresses, resolvers, user: Decode::decode(r)? }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{decode_body, encode_body};
    use super::*;
    use crate::Value;
    use crate::compact::Limits;

    #[test]
    fn agents_keep_addresses_and_resolvers() {
        let resolver = Aid::new("ams", "there")
            .with_contact(Contact { addresses: vec!["tcp://there:1099".to_owned()], ..Contact::default() });
        let known = Aid::new("eve", "there").with_contact(Contact {
            addresses: vec!["http://a".to_owned(), "http://b".to_owned()],
            resolvers: vec![resolver],
            user: vec![("X-age".into(), Value::Int(7))],
        });
        for agents in [vec![Aid::local("amy"), Aid::NOBODY], vec![known, Aid::new("bob", "here"), known, known, known]]
        {
            let mut bytes = Vec::new();
            encode_body(&agents, &mut bytes).expect("not deep");
            let back: Vec<Aid> = decode_body(&bytes, Limits::MESSAGE).expect("it can be read");
            assert!(back.len() == agents.len() && back.iter().zip(&agents).all(|(a, b)| a.same(b)), "{back:?}");
        }
    }
}

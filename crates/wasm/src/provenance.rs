//! Provenance of a guest: its creator, the creator's node, and its first ancestor if it is a clone. A node notes the
//! provenance when the guest is created. It travels with the agent, beside its memory, so no guest can change it.

use std::sync::Arc;

use whimbrel_acl::Symbol;
use whimbrel_platform::limits::{AGENT_NAME_BYTES_MAX, NODE_NAME_BYTES_MAX};
use whimbrel_platform::storage::Holder;

use crate::bytes::{BadBytes, StateReader, put_bytes};

/// Provenance of a guest; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// Owner of the guest and all its clones.
    pub owner: GuestOwner,
    /// First ancestor of a clone, which is no clone itself.
    pub ancestor: Option<Box<str>>,
}

/// Owner of guests: their creator, on the creator's node. Guests without a creator belong to their node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GuestOwner {
    /// Name of the creator; empty for the node itself.
    pub name: Box<str>,
    /// Name of the node; empty on a platform of one node.
    pub node: Box<str>,
}

impl std::fmt::Display for GuestOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&*self.name, &*self.node) {
            ("", "") => f.write_str("this node"),
            ("", node) => write!(f, "node {node}"),
            (name, "") => f.write_str(name),
            (name, node) => write!(f, "{name} of node {node}"),
        }
    }
}

impl Provenance {
    /// Creates the provenance of an agent that `owner` created on `node`; an empty owner is the node.
    pub fn of(owner: Symbol, node: Symbol) -> Arc<Self> {
        let owner = GuestOwner { name: owner.as_str().into(), node: node.as_str().into() };
        Arc::new(Self { owner, ancestor: None })
    }

    /// Creates the provenance of a clone of the agent `original`.
    pub fn of_clone(&self, original: Symbol) -> Arc<Self> {
        let ancestor = self.ancestor.clone().unwrap_or_else(|| original.as_str().into());
        Arc::new(Self { owner: self.owner.clone(), ancestor: Some(ancestor) })
    }

    /// Returns the name of the first ancestor, or `name` if the agent is no clone.
    pub fn first_name(&self, name: Symbol) -> Symbol {
        self.ancestor.as_deref().map_or(name, Symbol::new)
    }

    /// Returns the holder of the storage of an agent of this name.
    pub fn holder(&self, name: Symbol) -> Holder {
        let GuestOwner { name: owner, node } = &self.owner;
        let agent = self.ancestor.as_deref().unwrap_or(name.as_str());
        Holder { owner: owner.to_string(), node: node.to_string(), agent: agent.to_owned() }
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        let texts = [&*self.owner.name, &*self.owner.node, self.ancestor.as_deref().unwrap_or_default()];
        texts.into_iter().for_each(|text| put_bytes(text.as_bytes(), out));
    }

    pub fn read(input: &mut StateReader<'_>) -> Result<Arc<Self>, BadBytes> {
        let owner = GuestOwner { name: text(input, AGENT_NAME_BYTES_MAX)?, node: text(input, NODE_NAME_BYTES_MAX)? };
        let ancestor = Some(text(input, AGENT_NAME_BYTES_MAX)?).filter(|name| !name.is_empty());
        Ok(Arc::new(Self { owner, ancestor }))
    }
}

fn text(input: &mut StateReader<'_>, bytes_max: usize) -> Result<Box<str>, BadBytes> {
    let bytes = input.bytes()?;
    let text = std::str::from_utf8(bytes).map_err(|_| BadBytes)?;
    if text.len() > bytes_max { Err(BadBytes) } else { Ok(text.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_clones_keep_the_ancestor() {
        let first = Provenance::of("boss".into(), "n1".into());
        assert_eq!(first.first_name("scout".into()), Symbol::new("scout"));
        let second = first.of_clone("scout".into());
        let third = second.of_clone("warden".into());
        assert_eq!((third.first_name("king".into()), &third.owner), ("scout".into(), &first.owner));
        assert_eq!(third.owner.to_string(), "boss of node n1");
    }

    #[test]
    fn lines_are_written_and_read() {
        for provenance in
            [Provenance::of("".into(), "".into()), Provenance::of("boss".into(), "n1".into()).of_clone("scout".into())]
        {
            let mut bytes = Vec::new();
            provenance.write(&mut bytes);
            assert_eq!(Provenance::read(&mut StateReader::new(&bytes)), Ok(provenance));
        }
        let long = "x".repeat(AGENT_NAME_BYTES_MAX + 1);
        let mut bytes = Vec::new();
        Provenance::of(Symbol::new(&long), "n1".into()).write(&mut bytes);
        assert_eq!(Provenance::read(&mut StateReader::new(&bytes)), Err(BadBytes));
    }
}

//! Members of families: the family of each agent that another one created, by the number of the agent's name.
//!
//! Agents that are created one after the other have names with numbers one after the other. So a look-up is one load
//! from a page that is in the cache. A hash table would fetch another line of memory for each agent.

use whimbrel_acl::Symbol;

/// Number of a family in its table.
pub(super) type FamilyNumber = u32;

const PAGE_BITS: u32 = 8;
const PAGE_PLACES: usize = 1 << PAGE_BITS;

/// Place of a name: empty if its name is.
type Place = (Symbol, FamilyNumber);

#[derive(Clone, Debug)]
struct MemberPage {
    places: [Place; PAGE_PLACES],
    members: usize,
}

/// Table of members; see the [module](self). A page without members takes no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    pages: Vec<Option<Box<MemberPage>>>,
}

/// Returns the page of a name, and its place there.
const fn locate(name: Symbol) -> (usize, usize) {
    let index = name.index() as usize;
    (index >> PAGE_BITS, index & (PAGE_PLACES - 1))
}

impl Members {
    /// Returns the family that counts this agent.
    #[inline]
    pub fn get(&self, name: Symbol) -> Option<FamilyNumber> {
        let (page, place) = locate(name);
        let (member, family) = self.pages.get(page)?.as_ref()?.places.get(place)?;
        (*member != Symbol::default()).then_some(*family)
    }

    /// Has a family count this agent.
    pub fn insert(&mut self, name: Symbol, family: FamilyNumber) {
        let (page, place) = locate(name);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let Some(page) = self.pages.get_mut(page) else { return };
        let page =
            page.get_or_insert_with(|| Box::new(MemberPage { places: [Place::default(); PAGE_PLACES], members: 0 }));
        if let Some(place) = page.places.get_mut(place) {
            page.members += usize::from(place.0 == Symbol::default());
            *place = (name, family);
        }
    }

    /// Removes an agent. Returns the family that counted it.
    pub fn remove(&mut self, name: Symbol) -> Option<FamilyNumber> {
        let (page, place) = locate(name);
        let slot = self.pages.get_mut(page)?;
        let page = slot.as_mut()?;
        let (member, family) = std::mem::take(page.places.get_mut(place)?);
        if member == Symbol::default() {
            return None;
        }
        page.members -= 1;
        if page.members == 0 {
            *slot = None;
        }
        Some(family)
    }

    /// Returns the agents that this family counts, in no order.
    pub fn of(&self, family: FamilyNumber) -> impl Iterator<Item = Symbol> {
        let places = self.pages.iter().flatten().flat_map(|page| &page.places);
        places.filter(move |(name, of)| *name != Symbol::default() && *of == family).map(|(name, _)| *name)
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.pages.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_and_go_with_members() {
        let mut members = Members::default();
        let names: Vec<Symbol> = (0..1_000).map(|number| Symbol::new(&format!("member-{number}"))).collect();
        for (family, name) in (0..).zip(&names) {
            members.insert(*name, 1_000);
            members.insert(*name, family % 3);
        }
        assert_eq!(members.get("member-of-none".into()), None);
        assert_eq!((members.get(names[4]), members.of(1).count(), members.of(7).count()), (Some(1), 333, 0));
        for (family, name) in (0..).zip(&names) {
            assert_eq!((members.remove(*name), members.remove(*name)), (Some(family % 3), None));
        }
        assert!(members.is_empty());
    }
}

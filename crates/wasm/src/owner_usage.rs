//! Usage of each owner: all guests of an owner on this node together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_platform::Time;
use whimbrel_platform::inspection::QuotaSeen;
use whimbrel_platform::limits::GUEST_OWNERS_SPARE;
use whimbrel_platform::policy::OwnerTerms;

use crate::guest::Breach;
use crate::provenance::GuestOwner;

/// Owners that have guests here, or had some a moment ago.
#[derive(Default)]
pub(crate) struct Owners {
    accounts: Mutex<FxHashMap<GuestOwner, Arc<OwnerAccount>>>,
}

/// Account of one owner.
struct OwnerAccount {
    owner: GuestOwner,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    /// Microseconds of processor time.
    cpu: Window,
    messages: Window,
    memory_bytes: u64,
    clones: u32,
    /// Number of guests present, and arrival of the first of them.
    present: u32,
    since: Time,
    /// Terms of the guest that came last.
    terms: OwnerTerms,
}

/// Counter within a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Window {
    since: Time,
    count: u64,
}

impl Window {
    /// Adds to the counter, and returns its value in this second.
    pub fn add(&mut self, count: u64, now: Time) -> u64 {
        if now.as_ms().saturating_sub(self.since.as_ms()) >= 1_000 {
            (self.since, self.count) = (now, 0);
        }
        self.count = self.count.saturating_add(count);
        self.count
    }

    /// Returns the value in this second.
    pub fn now(&self, now: Time) -> u64 {
        if now.as_ms().saturating_sub(self.since.as_ms()) >= 1_000 { 0 } else { self.count }
    }

    /// Adds the count of one guest, whose part so far is `mine`. If the sum exceeds `most`, returns false and removes
    /// the part of this guest: it is ended, and the others continue.
    fn add_share(&mut self, mine: &mut Self, count: u64, now: Time, most: u64) -> bool {
        let all = self.add(count, now);
        if mine.since != self.since {
            *mine = Self { since: self.since, count: 0 };
        }
        mine.count = mine.count.saturating_add(count);
        if all > most {
            self.count = self.count.saturating_sub(mine.count);
            mine.count = 0;
        }
        all <= most
    }
}

/// Share of one guest in its owner's usage. When it is dropped, it gives back all but the counters per second.
pub(crate) struct OwnerShare {
    account: Arc<OwnerAccount>,
    cpu: Window,
    messages: Window,
    memory_bytes: u64,
    is_clone: bool,
    /// End of the lifetime of the owner's agents here.
    pub until: Time,
}

impl Drop for OwnerShare {
    fn drop(&mut self) {
        let mut spent = self.account.spent();
        spent.memory_bytes = spent.memory_bytes.saturating_sub(self.memory_bytes);
        spent.clones = spent.clones.saturating_sub(u32::from(self.is_clone));
        spent.present = spent.present.saturating_sub(1);
    }
}

impl OwnerAccount {
    fn quotas(&self, now: Time) -> Vec<QuotaSeen> {
        let Spent { cpu, messages, memory_bytes, clones, since, terms, .. } = &*self.spent();
        let mut quotas = vec![
            QuotaSeen::of("owner_memory_bytes", *memory_bytes, terms.memory_bytes),
            QuotaSeen::of("owner_clones", u64::from(*clones), Some(terms.clones)),
        ];
        quotas
            .extend(terms.cpu_ms_per_s.map(|max| QuotaSeen::of("owner_cpu_ms_per_s", cpu.now(now) / 1_000, Some(max))));
        let messages = |max| QuotaSeen::of("owner_messages_per_s", messages.now(now), Some(max));
        quotas.extend(terms.messages_per_s.map(messages));
        if let Some(lifetime) = terms.lifetime {
            let here = (now.max(*since) - *since).as_secs();
            quotas.push(QuotaSeen::of("owner_lifetime_s", here, Some(lifetime.as_secs())));
        }
        quotas
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owners {
    /// Begins the share of a guest that arrives or is created.
    ///
    /// # Errors
    /// The guest is a clone, and its owner has too many of them here; or the lifetime of the owner's agents here is
    /// over.
    pub fn enter(
        &self,
        owner: &GuestOwner,
        is_clone: bool,
        now: Time,
        terms: &OwnerTerms,
    ) -> Result<Box<OwnerShare>, Breach> {
        let account = self.account(owner);
        let mut spent = account.spent();
        let since = if spent.present > 0 { spent.since } else { now };
        let until = terms.lifetime.map_or(Time::NEVER, |lifetime| since + lifetime);
        if now >= until {
            return Err(lifetime_over(owner, terms));
        }
        if is_clone && spent.clones >= terms.clones {
            return Err(Breach::OwnerClones { owner: owner.to_string(), max: terms.clones });
        }
        spent.since = since;
        spent.present += 1;
        spent.clones += u32::from(is_clone);
        spent.terms.clone_from(terms);
        drop(spent);
        let (cpu, messages) = (Window::default(), Window::default());
        Ok(Box::new(OwnerShare { account, cpu, messages, memory_bytes: 0, is_clone, until }))
    }

    /// Lists the quotas of each owner that has guests here, with their use, by name.
    pub fn quotas(&self, now: Time) -> Vec<(String, Vec<QuotaSeen>)> {
        let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let present = accounts.values().filter(|account| Arc::strong_count(account) > 1);
        let mut all: Vec<_> = present.map(|account| (account.owner.to_string(), account.quotas(now))).collect();
        drop(accounts);
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    fn account(&self, owner: &GuestOwner) -> Arc<OwnerAccount> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(owner) {
            return Arc::clone(account);
        }
        // Each sweep doubles the room, so that sweeps are rare.
        if accounts.len() >= accounts.capacity().max(GUEST_OWNERS_SPARE) {
            accounts.retain(|_, account| Arc::strong_count(account) > 1);
            let stay = accounts.len();
            accounts.reserve(stay);
        }
        let account = Arc::new(OwnerAccount { owner: owner.clone(), spent: Mutex::default() });
        accounts.insert(owner.clone(), Arc::clone(&account));
        account
    }
}

fn lifetime_over(owner: &GuestOwner, terms: &OwnerTerms) -> Breach {
    let seconds = terms.lifetime.map_or(0, |lifetime| lifetime.as_secs());
    Breach::OwnerLifetime { owner: owner.to_string(), seconds }
}

impl OwnerShare {
    fn owner(&self) -> String {
        self.account.owner.to_string()
    }

    /// Adds processor time.
    ///
    /// # Errors
    /// The owner's agents took too much of it, and this guest exceeded the limit.
    pub fn add_cpu(&mut self, micros: u64, now: Time, terms: &OwnerTerms) -> Result<(), Breach> {
        let Some(max) = terms.cpu_ms_per_s else { return Ok(()) };
        let most = u64::from(max) * 1_000;
        match self.account.spent().cpu.add_share(&mut self.cpu, micros, now, most) {
            true => Ok(()),
            false => Err(Breach::OwnerCpuTime { owner: self.owner(), max }),
        }
    }

    /// Adds messages.
    ///
    /// # Errors
    /// The owner's agents sent too many, and this guest exceeded the limit.
    pub fn add_messages(&mut self, count: u32, now: Time, terms: &OwnerTerms) -> Result<(), Breach> {
        let Some(max) = terms.messages_per_s else { return Ok(()) };
        match self.account.spent().messages.add_share(&mut self.messages, u64::from(count), now, u64::from(max)) {
            true => Ok(()),
            false => Err(Breach::OwnerMessageRate { owner: self.owner(), max }),
        }
    }

    /// Returns the violation if the lifetime of the owner's agents here is over.
    pub fn over(&self, now: Time, terms: &OwnerTerms) -> Option<Breach> {
        (now >= self.until).then(|| lifetime_over(&self.account.owner, terms))
    }

    /// Checks the length of a message or line.
    ///
    /// # Errors
    /// Agents of the owner may not send or print so many bytes at once.
    pub fn check_length(&self, bytes: usize, terms: &OwnerTerms) -> Result<(), Breach> {
        match terms.message_bytes.filter(|max| bytes > *max) {
            Some(max) => Err(Breach::OwnerMessageBytes { owner: self.owner(), bytes, max }),
            None => Ok(()),
        }
    }

    /// Raises the guest's memory to this number of bytes; it never falls.
    ///
    /// # Errors
    /// The owner's agents would have too much memory.
    pub fn grow(&mut self, bytes: u64, terms: &OwnerTerms) -> Result<(), Breach> {
        let more = bytes.saturating_sub(self.memory_bytes);
        let mut spent = self.account.spent();
        let wanted = spent.memory_bytes.saturating_add(more);
        if let Some(max) = terms.memory_bytes.filter(|max| wanted > *max && more > 0) {
            drop(spent);
            return Err(Breach::OwnerMemoryBytes { owner: self.owner(), wanted, max });
        }
        spent.memory_bytes = wanted;
        self.memory_bytes += more;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Time = Time(5_000_000);

    fn owner(number: usize) -> GuestOwner {
        GuestOwner { name: format!("boss{number}").into(), node: "n1".into() }
    }

    fn terms() -> OwnerTerms {
        let memory_bytes = Some(1_000);
        let (cpu_ms_per_s, messages_per_s) = (Some(10), Some(100));
        OwnerTerms { cpu_ms_per_s, messages_per_s, memory_bytes, clones: 2, ..OwnerTerms::default() }
    }

    #[test]
    fn ended_guest_takes_its_share_along() {
        let (owners, terms) = (Owners::default(), terms());
        let mut shares: Vec<_> = (0..4).map(|_| owners.enter(&owner(1), false, NOW, &terms).unwrap()).collect();
        let mut send = |which: usize, count, ms: u64| shares[which].add_messages(count, Time(ms * 1_000), &terms);
        assert_eq!([send(0, 60, 5_000), send(1, 40, 5_100)], [Ok(()), Ok(())]);
        let over = Breach::OwnerMessageRate { owner: "boss1 of node n1".to_owned(), max: 100 };
        assert_eq!(send(0, 1, 5_200), Err(over.clone()), "the sum counts");
        assert_eq!([send(1, 40, 5_300), send(2, 20, 5_300)], [Ok(()), Ok(())], "without what that one sent");
        assert_eq!(send(3, 1, 5_400), Err(over));
        assert_eq!(send(2, 100, 6_000), Ok(()), "the next second");
        let mut stranger = owners.enter(&owner(2), false, NOW, &terms).unwrap();
        assert_eq!(stranger.add_messages(100, Time(5_400_000), &terms), Ok(()));
    }

    #[test]
    fn departed_guests_usage_still_counts() {
        let (owners, terms) = (Owners::default(), terms());
        let now = Time(7_000_000);
        owners.enter(&owner(1), false, NOW, &terms).unwrap().add_cpu(9_000, now, &terms).unwrap();
        let again = owners.enter(&owner(1), false, NOW, &terms).unwrap().add_cpu(2_000, now, &terms);
        assert_eq!(again, Err(Breach::OwnerCpuTime { owner: "boss1 of node n1".to_owned(), max: 10 }));
    }

    #[test]
    fn memory_and_clones_are_freed() {
        let (owners, terms) = (Owners::default(), terms());
        let enter = || owners.enter(&owner(1), true, NOW, &terms);
        let (mut one, mut other) = (enter().unwrap(), enter().unwrap());
        assert!(matches!(enter(), Err(Breach::OwnerClones { max: 2, .. })));
        one.grow(600, &terms).unwrap();
        one.grow(400, &terms).unwrap();
        other.grow(400, &terms).unwrap();
        assert!(matches!(other.grow(401, &terms), Err(Breach::OwnerMemoryBytes { wanted: 1_001, .. })));
        drop(one);
        other.grow(1_000, &terms).unwrap();
        assert!(enter().is_ok());
    }

    #[test]
    fn owner_lifetime_begins_with_first_guest() {
        let (owners, terms) = (Owners::default(), OwnerTerms { lifetime: Some(Duration::from_secs(60)), ..terms() });
        let enter = |seconds: u64| owners.enter(&owner(1), false, Time::from_ms(seconds * 1_000), &terms);
        let first = enter(100).unwrap();
        let second = enter(159).unwrap();
        assert_eq!((first.until, second.until), (Time::from_ms(160_000), Time::from_ms(160_000)));
        drop(first);
        let over = Breach::OwnerLifetime { owner: "boss1 of node n1".to_owned(), seconds: 60 };
        assert_eq!(second.over(Time::from_ms(159_999), &terms), None);
        assert_eq!(second.over(Time::from_ms(160_000), &terms), Some(over.clone()));
        assert_eq!(enter(160).err(), Some(over), "one of them is still there");
        let told = owners.quotas(Time::from_ms(130_000));
        assert!(told[0].1.contains(&QuotaSeen::of("owner_lifetime_s", 30, Some(60u64))), "{told:?}");
        drop(second);
        assert_eq!(enter(160).unwrap().until, Time::from_ms(220_000), "nobody was there");
    }

    #[test]
    fn owner_usage_is_listed() {
        let (owners, terms, now) = (Owners::default(), terms(), Time::from_ms(5_000));
        let mut share = owners.enter(&owner(1), true, NOW, &terms).unwrap();
        share.add_messages(3, now, &terms).unwrap();
        share.add_cpu(2_500, now, &terms).unwrap();
        share.grow(700, &terms).unwrap();
        let told = |now: Time| -> Vec<(&'static str, Option<u64>)> {
            let quotas = owners.quotas(now);
            quotas.iter().flat_map(|(_, quotas)| quotas.iter().map(|quota| (quota.name, quota.used))).collect()
        };
        let of = |cpu: u64, messages: u64| {
            [
                ("owner_memory_bytes", 700),
                ("owner_clones", 1),
                ("owner_cpu_ms_per_s", cpu),
                ("owner_messages_per_s", messages),
            ]
            .map(|(name, used)| (name, Some(used)))
        };
        assert_eq!(told(now), of(2, 3));
        assert_eq!(told(now + Duration::from_secs(1)), of(0, 0), "that was in another second");
        assert_eq!(owners.quotas(now)[0].0, "boss1 of node n1");
        drop(share);
        assert_eq!(owners.quotas(now), []);
    }

    #[test]
    fn owners_without_agents_are_forgotten() {
        let (owners, terms) = (Owners::default(), terms());
        let stays = owners.enter(&owner(0), false, NOW, &terms).unwrap();
        (1..10 * GUEST_OWNERS_SPARE).for_each(|number| drop(owners.enter(&owner(number), false, NOW, &terms)));
        let accounts = owners.accounts.lock().unwrap();
        assert!(accounts.len() <= 3 * GUEST_OWNERS_SPARE, "{}", accounts.len());
        assert!(accounts.contains_key(&stays.account.owner));
    }
}

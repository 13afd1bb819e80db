//! The list of a process's domains.

use crate::domain::life::Domain;
use crate::prim::counters::Counter;
use crate::prim::{AtomicPtr, AtomicU64, Ordering};

/// All domains of the program.
#[derive(Debug)]
pub struct Registry {
    /// The domain created last.
    newest: AtomicPtr<Domain>,
    /// Number of domains created.
    #[cfg_attr(
        quiescent_model,
        allow(dead_code, reason = "a model's have numbers of their own")
    )]
    pub made: AtomicU64,
    /// The next identity. Domain numbers start at 1 and are the first identities; later identities start at
    /// 2^32, above those.
    ids: Counter,
}

/// Domains, from one on to the oldest.
#[derive(Clone, Debug)]
pub struct Domains(Option<&'static Domain>);

impl Iterator for Domains {
    type Item = &'static Domain;

    fn next(&mut self) -> Option<&'static Domain> {
        let domain = self.0?;
        // SAFETY: null, or a domain; domains live forever.
        self.0 = unsafe { domain.made_before.load(Ordering::Acquire).as_ref() };
        Some(domain)
    }
}

impl Registry {
    const_new! {
        pub fn new() -> Registry {
            Registry {
                newest: AtomicPtr::new(std::ptr::null_mut()),
                made: AtomicU64::new(0),
                ids: Counter::new(1 << 32),
            }
        }
    }

    /// An identity that no owner has had.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// All domains, the newest first.
    pub fn all(&self) -> Domains {
        // SAFETY: null, or a domain; domains live forever.
        Domains(unsafe { self.newest.load(Ordering::Acquire).as_ref() })
    }

    /// Adds a domain that no other thread refers to yet.
    pub fn add(&self, new: &'static Domain) {
        let place = std::ptr::from_ref(new).cast_mut();
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            new.made_before.store(newest, Ordering::Relaxed);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self
                .newest
                .compare_exchange(newest, place, order.0, order.1)
            {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use crate::testing::program;

    #[test]
    fn each_owner_has_an_identity_and_each_domain_a_number() {
        let env = &program().env;
        let [first, second] = [(); 2].map(|()| Domain::found(env));
        let domains: Vec<_> = env.registry.all().map(Domain::number).collect();
        assert_eq!(domains, [second.number(), first.number()]);
        assert_ne!(first.number(), second.number());
        let before = first.id();
        assert_ne!(before, second.id());
        first.abandon();
        assert!(
            std::ptr::eq(Domain::found(env), first),
            "the place is used again"
        );
        assert_ne!(first.id(), before);
        let ids = [(); 3].map(|()| env.registry.next_id());
        assert!(ids[0] < ids[1] && ids[1] < ids[2] && first.id() < ids[0]);
    }

    use super::*;
}

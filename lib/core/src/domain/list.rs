//! The list of a process's domains.

use crate::domain::life::Domain;
use crate::prim::AtomicU64;
use crate::prim::counters::Counter;
use crate::prim::linked::{Linked, List};

/// The domains of the program.
#[derive(Debug)]
pub struct Registry {
    /// All of them, the newest first.
    pub domains: List<Domain>,
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

impl Linked for Domain {
    fn rest(&self) -> &List<Domain> {
        &self.made_before
    }
}

impl Registry {
    const_new! {
        pub fn new() -> Registry {
            Registry {
                domains: List::new(),
                made: AtomicU64::new(0),
                ids: Counter::new(1 << 32),
            }
        }
    }

    /// An identity that no owner has had.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use crate::testing::program;

    #[test]
    fn each_owner_has_an_identity_and_each_domain_a_number() {
        let env = &program().env;
        let [first, second] = [(); 2].map(|()| Domain::found(env));
        let domains: Vec<_> = env.registry.domains.iter().map(Domain::number).collect();
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

//! The harness face for checkers: this crate's own sources on a model's primitives. Exists only in the
//! check crates' builds, never in the product.
//!
//! A model thread calls [`Model::enter`] first and [`Model::leave`] last; in between it uses the
//! ordinary calls of this crate ([`crate::read_lock`], [`crate::synchronize`], …), which work on the
//! domain it entered.

use crate::domain::Domain;
use crate::sync;

/// Sections one inside the other from which on a guard takes the overflow path: few, in a model.
pub const NEST_LIMIT: u64 = sync::NEST_LIMIT;

/// A domain for one execution of a model. Leaked: readers' words live for ever.
#[derive(Clone, Copy, Debug)]
pub struct Model(&'static Domain);

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// A fresh domain, its fence mode decided: membarrier on the double, fenced under loom.
    /// `spins_before`, `spins_after`: how often a driver looks again before it flags holdouts, and
    /// before it sleeps; small numbers keep explorations small.
    pub fn with_spins(spins_before: u16, spins_after: u16) -> Model {
        let mut config = quiescent_engine::Config::threads();
        config.geometry.leaf_fanout = sync::LEAF_SLOTS as u32;
        config.pace = quiescent_engine::Pace::Direct {
            spin: 1,
            spins_before_flag: spins_before,
            spins_after_flag: spins_after,
            expedited_factor: 1,
            stall_ns: u64::MAX,
        };
        let domain: &'static Domain = Box::leak(Box::new(Domain::with_config(config)));
        domain.resolve_mode();
        domain.slots.limit_leaves(1);
        Model(domain)
    }

    /// Allows this many leaves; one otherwise, so that slots run out soon.
    pub fn leaves(self, leaves: u32) -> Model {
        self.0.slots.limit_leaves(leaves);
        self
    }

    /// With the fewest spins.
    pub fn new() -> Model {
        Model::with_spins(0, 0)
    }

    /// The calling model thread works on this domain from now on.
    pub fn enter(self) {
        sync::enter_domain(self.0);
    }

    /// The calling model thread ends: what the exit hook does.
    pub fn leave(self) {
        if let Some(slot) = self.0.own_slot() {
            let _ = Domain::leave_thread(slot);
        }
    }

    /// Forces fenced mode; before any thread has read.
    pub fn fenced(self) -> Model {
        self.0
            .force_mode(crate::FenceMode::Fenced)
            .expect("nobody has read");
        self
    }

    /// Registers the calling thread without reading.
    pub fn register(self) {
        let _ = self.0.own_slot_or_register();
    }
}

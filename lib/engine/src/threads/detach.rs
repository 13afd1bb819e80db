//! Detaching the tree, for an engine that goes to other readers.
//!
//! A tree remembers who was at its leaves, and where sparse ([`Config::skip_empty`](crate::Config::skip_empty)) its host promises not to
//! clear a bit of [`occupied`](crate::Host::occupied) before the engine has found the leaf empty. A host that lends an idle engine to
//! another group of readers cannot promise that for the next group. Without a tree an engine is as at first: whoever drives next is
//! asked to [`grow`](Global::grow) one. Numbers go on: nothing is wanted, so no node can know of a later one than the engine.
//!
//! What was said to it goes, too: that somebody has been woken to take everything over, that memory is low, that the program has been
//! told of its budget. Whoever was woken for that finds that the engine is nobody's, and the next group has to be able to say it anew.

use crate::common::global::{Global, Phase};
use crate::common::tree::Tree;

impl Global {
    /// Takes the tree out, to be freed with no lock held, and forgets what was said. `None`, and nothing happens, if a grace period is in flight
    /// or wanted, or somebody drives; `None` also if there is no tree.
    pub fn detach(&mut self) -> Option<Tree> {
        let idle = self.phase == Phase::Idle && !self.busy() && !self.is_driven();
        if !idle || self.exp_in_flight() {
            return None;
        }
        self.budget.unsaid();
        self.group.pressure.unsaid();
        self.tree.take()
    }
}

#[cfg(test)]
mod tests {
    use crate::common::config::Config;
    use crate::common::global::{Global, Interest};
    use crate::common::host::{CpuId, Host, LeafId, Next, Now, Seen};
    use crate::common::seq::Seq;

    /// So many readers, all outside.
    struct Outside(u32);

    impl Host for Outside {
        fn cpus(&self) -> u32 {
            self.0
        }
        fn observe(&self, _: CpuId) -> Seen {
            Seen {
                outside: true,
                stamp: 0,
            }
        }
        fn present(&self, leaf: LeafId) -> u64 {
            let here = self.0.saturating_sub(64 * leaf as u32).min(64);
            u64::MAX.checked_shr(64 - here).unwrap_or(0)
        }
        fn occupied(&self, group: usize) -> u64 {
            assert_eq!(group, 0);
            u64::MAX >> (64 - self.0.div_ceil(64))
        }
        fn own_quiescent(&self, _: CpuId) -> bool {
            true
        }
    }

    /// A whole grace period beside readers that are all outside; how often the driver was asked for a tree.
    fn whole(global: &mut Global, host: &Outside) -> u32 {
        let (cookie, _) = global.start_poll(0, host);
        assert!(global.try_drive(None, Interest::Passing));
        let mut grown = 0;
        let mut next = Next::Again;
        while !matches!(next, Next::Done | Next::HandOver) {
            next = match next {
                Next::Grow(cpus) => {
                    let tree = Global::new_tree(global.config(), cpus).expect("memory");
                    assert!(global.grow(tree).is_ok());
                    grown += 1;
                    Next::Again
                }
                Next::Fence(_) => global.fenced(),
                Next::Again => global.step(Now::default(), host).next,
                other => panic!("nobody is in the way: {other:?}"),
            };
        }
        let _ = global.leave();
        assert!(cookie.done(global.published().root, Seq::ZERO));
        grown
    }

    #[test]
    fn an_engine_without_its_tree_grows_another_one_and_counts_on() {
        let mut global = Global::new(Config::threads());
        let (many, few) = (Outside(200), Outside(3));
        assert_eq!(whole(&mut global, &many), 1);
        assert_eq!(whole(&mut global, &many), 0);
        let before = global.published().global;
        assert!(global.detach().is_some());
        assert!(global.detach().is_none(), "it is gone");
        assert_eq!(global.published().global, before);
        assert_eq!(whole(&mut global, &few), 1);
        assert_ne!(global.published().global, before);
        assert_eq!(global.counts().grace_periods, 3);
    }

    #[test]
    fn one_that_is_wanted_keeps_its_tree() {
        let mut global = Global::new(Config::threads());
        let host = Outside(3);
        whole(&mut global, &host);
        let _ = global.start_poll(0, &host);
        assert!(global.detach().is_none(), "a grace period is wanted");
        assert!(global.try_drive(None, Interest::Passing));
        assert!(global.detach().is_none(), "somebody drives");
    }

    #[test]
    fn low_memory_is_said_anew_to_whoever_is_next() {
        let mut global = Global::new(Config::threads());
        assert!(global.memory_low(Now::default()).kick);
        assert!(!global.memory_low(Now::default()).kick, "on its way");
        let _ = global.detach();
        assert!(!global.memory_is_said_low());
        assert!(global.memory_low(Now::default()).kick);
    }
}

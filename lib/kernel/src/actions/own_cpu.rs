//! A grace-period thread's work for the CPU on which it runs.
//!
//! A kernel's grace-period thread visits every node. At its own leaf, whose lock it holds anyway, it lets its
//! own CPU notice the edge, and when the grace period has ended it stamps the callbacks that this CPU has
//! queued meanwhile. All other CPUs notice at their next tick. So callbacks queued on the thread's CPU are
//! one tick faster at both ends.
//!
//! # Correctness
//! The CPU itself could make these calls at that moment; the caller holds the CPU's lock, and no other thread
//! runs there.

use crate::periods::cpu::Cpu;
use crate::periods::global::{Global, Phase};
use crate::periods::host::{Effects, Host, Now};

impl Global {
    /// [`step`](Global::step), by a grace-period thread that runs on `cpu`.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn step_on(&mut self, cpu: &mut Cpu, now: Now, host: &impl Host) -> Effects {
        let phase = self.phase;
        let effects = self.step(now, host);
        let own_leaf = |node| {
            let tree = self.tree.as_ref();
            let place = tree.and_then(|tree| Some((tree, tree.place_of(cpu.id)?.0)));
            place.is_some_and(|(tree, leaf)| tree.leaf_node(leaf) == node)
        };
        let wakes_itself = match phase {
            Phase::Init(node) | Phase::Cleanup(node) if own_leaf(node) => {
                cpu.note_gp_changes(self, host).wake_gp
            }
            Phase::End if !cpu.offloaded => cpu.stamp(self, host),
            _ => false,
        };
        let _ = wakes_itself; // the thread is awake, and checks for requests before it sleeps
        effects
    }
}

#[cfg(test)]
mod tests {
    use crate::periods::config::Config;
    use crate::periods::config::EarlyQs;
    use crate::periods::cpu::Cpu;
    use crate::periods::global::Global;
    use crate::periods::global::Phase;
    use crate::periods::host::Now;
    use crate::periods::host::{CpuId, Host, LeafId, Next, Seen};

    /// Two CPUs that are idle at every scan.
    struct Idle;

    impl Host for Idle {
        fn cpus(&self) -> u32 {
            2
        }
        fn observe(&self, _: CpuId) -> Seen {
            Seen {
                outside: true,
                stamp: 0,
            }
        }
        fn present(&self, _: LeafId) -> u64 {
            3
        }
        fn own_quiescent(&self, _: CpuId) -> bool {
            true
        }
    }

    /// Both CPUs queue a callback; returns the number ready on each after one grace period, and whether
    /// another grace period is requested.
    fn after_one(thread_on: u32) -> ([u64; 2], bool) {
        let config = Config {
            early_qs: EarlyQs::Init,
            ..Config::kernel_6_12(2, 1000)
        };
        let mut global = Global::new(config);
        let tree = Global::new_tree(&config, 2).expect("two CPUs fit");
        assert!(global.grow(tree).is_ok());
        assert!(global.try_drive(Some(thread_on)));
        let mut cpus = [Cpu::new(0), Cpu::new(1)];
        for cpu in &mut cpus {
            let _ = cpu.call(&mut global, 8, 0, &Idle);
            assert_eq!(cpu.core(&mut global, &Idle).wake_gp, cpu.id() == 0);
        }
        let mut now = Now::default();
        let own = thread_on as usize;
        let mut late = false;
        while global.counts().grace_periods == 0 {
            let effects = global.step_on(&mut cpus[own], now, &Idle);
            match effects.next {
                Next::Fence => assert_eq!(global.fenced(), Next::Again),
                Next::Sleep(_) => {
                    now.jiffies += 10;
                    if !late {
                        let _ = cpus[own].call(&mut global, 8, 0, &Idle);
                        late = true;
                    }
                }
                Next::Again => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(global.phase(), Phase::Idle);
        (cpus.map(|cpu| cpu.list().ready()), global.busy())
    }

    #[test]
    fn the_threads_own_cpu_learns_of_the_end_at_once_and_asks_for_the_next() {
        assert_eq!(after_one(0), ([1, 0], true));
        assert_eq!(after_one(1), ([0, 1], true));
    }

    #[test]
    fn what_its_cpu_queues_at_the_very_end_is_asked_for_unless_others_look_after_it() {
        for offloaded in [false, true] {
            let config = Config::kernel_6_12(2, 1000);
            let mut global = Global::new(config);
            let tree = Global::new_tree(&config, 2).expect("two CPUs fit");
            assert!(global.grow(tree).is_ok());
            assert!(global.try_drive(Some(0)));
            let mut cpu = Cpu::new(0);
            cpu.set_offloaded(offloaded);
            let _ = global.start_poll(0, &Idle);
            let mut now = Now::default();
            while global.counts().grace_periods == 0 {
                now.jiffies += 10;
                if global.phase() == Phase::End {
                    let _ = cpu.call(&mut global, 8, 0, &Idle);
                }
                if let Next::Fence = global.step_on(&mut cpu, now, &Idle).next {
                    let _ = global.fenced();
                }
            }
            let unstamped = cpu.list().unstamped();
            assert_eq!(
                (global.busy(), unstamped),
                (!offloaded, u64::from(offloaded))
            );
        }
    }
}

//! How rcuog rests, what ends its rest, and wake-ups of rcuop.

use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{Offload, Policy, Rest};

use super::bench::{BOTH, Bench, FLUSH};

#[test]
fn rcuog_waits_for_the_earliest_stamp_of_all_members() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call(1);
        it.rcuog(0);
        let Some(Rest::Gp { stamp, queue, .. }) = it.host.group(0).rest() else {
            panic!("it waits");
        };
        assert_eq!(u64::from(queue), stamp.to_bits() >> 2 & 1);
        it.host.run_thread(); // the grace period is under way
        let _ = it.call(0);
        assert_eq!(it.rcuog(0).0, 1);
        let again = it.host.group(0).rest();
        assert_eq!(
            again,
            Some(Rest::Gp {
                leaf: 0,
                queue,
                stamp
            }),
            "CPU 0 needs a later one"
        );
        assert_eq!(it.ticks(20)[..2], [1, 1], "{policy:?}");
        assert_eq!(it.host.group(0).rest(), Some(Rest::Unbounded));
        assert_eq!(it.host.wakeups().gp_end, 2);
    }
}

#[test]
fn a_hurried_callback_is_invoked_after_its_own_grace_period_though_more_wait() {
    for policy in BOTH {
        let mut it = Bench::new(4, policy);
        let _ = it.call(1);
        it.rcuog(0);
        it.host.run_thread(); // the grace period is under way
        let _ = it.call(1);
        it.grace_period();
        it.rcuog(0);
        assert_eq!(it.list(1), (1, 1), "{policy:?}");
        assert_eq!(it.rcuops(), [0, 1, 0, 0], "{policy:?}");
        assert_eq!(it.ticks(20), [0, 1, 0, 0], "{policy:?}");
    }
}

#[test]
fn a_wake_up_in_the_middle_of_a_pass_is_not_lost() {
    for policy in BOTH {
        let mut it = Bench::new(8, policy);
        let _ = it.call(3);
        for _ in 0..3 {
            let _ = it.host.step_rcuog(0); // members 0 and 1 were visited
        }
        assert_eq!(it.call(0).todo.rcuog, Some(0), "{policy:?}");
        assert_eq!(it.rcuog(0).0, 1, "another pass");
        assert_eq!(it.list(0), (0, 1));
        assert_eq!(it.ticks(20), [1, 0, 0, 1, 0, 0, 0, 0]);
    }
}

#[test]
fn one_that_polls_is_never_woken() {
    for policy in BOTH {
        let offload = Offload {
            poll: true,
            ..Bench::tunables(policy)
        };
        let mut it = Bench::with(4, offload);
        for group in 0..2 {
            let _ = it.host.begin_pass(group, 0);
            it.rcuog(group);
        }
        assert_eq!(it.host.group(0).rest(), Some(Rest::Poll { ticks: 1 }));
        let _ = (it.call(1), it.call_lazy(2));
        assert_eq!(it.ticks(20), [0, 1, 0, 0]);
        assert_eq!(it.ticks(FLUSH), [0, 0, 1, 0]);
        let woken = it.host.wakeups();
        assert_eq!((woken.rcuog, woken.timers_set), (0, 0), "{policy:?}");
    }
}

#[test]
fn who_waits_for_one_grace_period_is_not_woken_by_the_end_of_the_other() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let mut queue = || {
        let _ = it.call(1);
        it.rcuog(0);
        let Some(Rest::Gp { queue, .. }) = it.host.group(0).rest() else {
            panic!("it waits");
        };
        it.ticks(20);
        queue
    };
    let queues = [queue(), queue(), queue()];
    assert!(
        queues[0] != queues[1] && queues[0] == queues[2],
        "{queues:?}"
    );
}

/// Counts trace events of an rcuop that was woken without a callback to invoke.
#[derive(Default)]
struct Heard(std::cell::Cell<u32>);

impl quiescent_kernel::Host for Heard {
    quiescent_harness::asked_by_the_driver_only!();

    fn trace(&self, event: &quiescent_kernel::event::Event) {
        let empty = event.text("").to_string().ends_with("WokeEmpty");
        self.0.set(self.0.get() + u32::from(empty));
    }
}

#[test]
fn an_rcuop_that_finds_nothing_says_so() {
    let mut it = Bench::new(4, Policy::Kernel612);
    let _ = it.call(1);
    it.rcuog(0);
    let heard = Heard::default();
    assert!(!it.cpu(1).rcuop_woke(&heard), "nothing is ready");
    assert_eq!(heard.0.get(), 1);
    it.grace_period();
    it.rcuog(0);
    assert!(it.cpu(1).rcuop_woke(&heard));
    let out = it.host.begin_batch(1, Context::Rcuop);
    assert_eq!(heard.0.get(), 1);
    assert!(
        out.is_some() && !it.cpu(1).rcuop_woke(&heard),
        "it is extracted"
    );
}

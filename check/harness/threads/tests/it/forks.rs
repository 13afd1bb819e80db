//! The child of a fork, made at every step of a grace period: the child continues it from there.

use quiescent_engine::{Config, Interest, Phase};
use quiescent_harness_threads::TestHost;

/// A grace period of three threads after `steps` steps, with a section open in one thread, a driver, and
/// another waiter. `None`: it has fewer steps.
fn during(steps: u32, expedited: bool) -> Option<TestHost> {
    let mut host = TestHost::threads_with(70, Config::threads());
    host.enter(1);
    let ticket = match expedited {
        true => host.wait_for_gp_expedited(0),
        false => host.wait_for_gp(0),
    };
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    for step in 0..steps {
        if host.satisfied(ticket) {
            return None;
        }
        if step == 30 {
            host.exit(1);
        }
        let _ = host.step();
        if step == 10 {
            host.wait_for_gp(2);
        }
    }
    Some(host)
}

#[test]
fn the_child_goes_on_from_every_step() {
    for expedited in [false, true] {
        let mut phases = Vec::new();
        for steps in 0.. {
            let Some(mut host) = during(steps, expedited) else {
                break;
            };
            let phase = format!("{:?}", host.engine().phase());
            phases.push(phase.split('(').next().unwrap_or_default().to_owned());
            let asked = host.engine().busy();
            // The forking thread has a section open, which was opened before the fork.
            host.enter(0);
            let cookie = host.start_poll(0);
            host.fork(0);
            assert_eq!(host.engine().counts(), Default::default());
            assert!(!host.engine().is_driven() && !host.engine().waiters().any_waiting());
            assert!(
                asked && host.engine().busy(),
                "the request is still pending"
            );
            // The grace period waits for this thread, and for none of the parent's others.
            assert!(host.try_drive(0, Interest::Poller));
            for _ in 0..500 {
                let _ = host.step();
            }
            if host.asked().is_some() {
                let _ = host.leave();
            }
            assert!(
                !host.poll(cookie),
                "its own section is older than the cookie"
            );
            host.exit(0);
            for _ in 0..3 {
                let ticket = host.wait_for_gp(0);
                host.drive(0, ticket, 2000);
                assert!(host.satisfied(ticket), "after {steps} steps");
            }
            assert!(host.poll(cookie));
            assert_eq!(host.engine().phase(), Phase::Idle);
        }
        phases.dedup();
        for phase in ["Idle", "Fence", "Scan", "Wait"] {
            assert!(
                phases.iter().any(|seen| seen == phase),
                "{phase}: {phases:?}"
            );
        }
    }
}

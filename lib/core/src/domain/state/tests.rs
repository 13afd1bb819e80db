//! When a state is at rest: nothing queued, no thread waits, nothing is to be reported.

use quiescent_engine::Interest;
use quiescent_engine::credit::{Cause, Urgency};

use super::*;
use crate::domain::driver::How;
use crate::queue::kind::CODE;
use crate::testing::{counter, counting, program};

fn state() -> &'static State {
    program().domain().state()
}

#[test]
fn what_is_queued_is_no_rest_reported_or_not() {
    let state = state();
    assert!(state.is_at_rest());
    assert_eq!(state.oldest(), Duration::ZERO);
    state.put(CODE, counting(counter()), Urgency::Lazy);
    assert!(!state.is_at_rest());
    while state.oldest() == Duration::ZERO {
        std::thread::yield_now(); // the clock of this is a coarse one
    }
    let _ = state.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
    assert_eq!(state.synchronize(How::default()), Ok(()));
    state.run_some(1, crate::domain::sweep::Until { deadline: None });
    assert!(state.is_at_rest());
    // In the block of an owner, and not reported.
    let home = &program().env.state;
    home.put(CODE, counting(counter()), Urgency::Lazy);
    let queue = home.own_queue_or_new().expect("memory");
    let _ = home.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
    let ready = || home.run_some(9, crate::domain::sweep::Until { deadline: None });
    assert_eq!(home.synchronize(How::default()), Ok(()));
    assert_eq!((ready(), home.is_at_rest()), (1, true));
    queue.lanes[CODE].end.fetch_add(1, Ordering::Relaxed);
    assert!(!home.is_at_rest());
}

#[test]
fn a_driver_a_barrier_and_a_report_are_no_rest() {
    let state = state();
    assert!(state.lock().engine.try_drive(None, Interest::Poller));
    assert!(!state.is_at_rest());
    let _ = state.lock().engine.leave();
    assert!(state.is_at_rest());
    state.unreported.store(1, Ordering::Relaxed);
    assert!(!state.is_at_rest());
    state.unreported.store(0, Ordering::Relaxed);
    let mut place = 0;
    assert!(state.tasks.put(&mut place, None, std::task::Waker::noop()));
    assert!(!state.is_at_rest());
    state.tasks.remove(place);
    assert!(state.is_at_rest());
    let mut core = state.lock();
    let snap = core.barrier.snap();
    let _ = core.barrier.start(snap);
    assert!(core.barrier.in_flight());
    drop(core);
    assert!(!state.is_at_rest());
}

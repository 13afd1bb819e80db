//! Calls that are not made.

use crate::common::deferral::{Gate, flag};
use crate::common::{isolated, until};
use crate::stopped_driver::places::{Place, stop_at, stop_nowhere};
use quiescent::RcuList;
use std::sync::atomic::Ordering;
use std::thread;

/// A writer of a list wakes a thread only if one waits.
#[test]
fn a_writer_that_no_thread_waits_for_makes_no_call() {
    isolated(|| {
        static LIST: RcuList<u32> = RcuList::new();
        LIST.push_front(1);
        let (gate, ended) = (Gate::new(), flag());
        thread::scope(|scope| {
            scope.spawn(|| {
                stop_at(Place::WakeDriver, gate);
                LIST.push_front(2);
                stop_nowhere();
                ended.store(true, Ordering::Release);
            });
            let reached = || gate.reached.load(Ordering::Acquire);
            until("it ends", || ended.load(Ordering::Acquire) || reached() > 0);
            gate.open();
            assert_eq!(reached(), 0);
        });
    });
}

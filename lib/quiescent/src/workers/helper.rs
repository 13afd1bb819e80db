//! The thread that waits for grace periods of the process's domain in place of tasks. It ends when no task waits: with nobody waiting
//! there is no thread (rule R5).

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use quiescent_engine::FullCookie;

use super::pool;
use crate::inner::defer::tasks::Tasks;
use crate::inner::domain::counters::{count, uncount};
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim;

/// The tasks that wait.
pub(crate) static TASKS: Tasks<FullCookie> = Tasks::new();

/// Is there a helper that will look at the list?
static SERVED: AtomicBool = AtomicBool::new(false);

/// In the child of a fork: there is none. The next task that waits sees to it.
pub(crate) fn forked() {
    SERVED.store(false, Ordering::Relaxed);
}

/// Has a task woken when the grace period may have passed.
pub(crate) fn wake_then(cookie: FullCookie, place: &mut u64, waker: &Waker) {
    if !TASKS.put(place, cookie, waker) {
        waker.wake_by_ref(); // no room for it: busy, but right
    } else if begin_to_serve() && pool::spawn(c"quiescent-gp", serve).is_err() {
        // Others may have come meanwhile and rely on the helper: all of them poll again.
        SERVED.store(false, Ordering::Release);
        TASKS.choose(|_| true).wake_at_leisure();
    }
}

/// Is the caller to be the helper, or to start one? False if there is one, which sees the tasks that are in the list by now.
fn begin_to_serve() -> bool {
    !SERVED.swap(true, Ordering::AcqRel)
}

/// The helper: waits for grace periods while anybody waits for them.
///
/// It is the helper no more while it wakes tasks: a waker is the program's code and may take its time, or wait for another grace period.
/// A task that comes meanwhile starts another one.
fn serve() {
    let domain = prim::domain();
    count(&domain.counters.helpers);
    loop {
        // A fence that is refused for good is no reason to keep tasks asleep: they poll again.
        let failed = domain.synchronize(How::default()).is_err();
        let done = |cookie| failed || domain.is_done(cookie);
        let ready = TASKS.choose(done);
        SERVED.swap(false, Ordering::AcqRel); // who has found it set is seen in the list below
        ready.wake_at_leisure();
        if TASKS.is_empty() || !begin_to_serve() {
            break;
        }
    }
    uncount(&domain.counters.helpers);
}

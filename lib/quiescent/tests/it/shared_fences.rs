//! Shared fences: by threads that need one at the same time, and by the domains in one pass of the worker.
//! The tests count fences and measure no time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{Isolated, healed, isolated, until};
use quiescent::{FenceMode, Guard, Srcu, statistics};

/// Four times as many as the worker processes together.
const MANY: usize = 256;
const TOGETHER: u64 = 64;

/// Longer than anything prompt takes to be due.
const DUE: Duration = Duration::from_millis(150);

/// An `Srcu` in which another thread than the worker has read: its grace periods need a fence.
fn read_in() -> Srcu {
    let srcu = Srcu::new();
    drop(srcu.read_lock());
    srcu
}

/// Queues a callback in each of these while the worker is kept busy, until all are due. How many have run.
fn due_at_the_same_time(srcus: &[Srcu]) -> Arc<AtomicUsize> {
    healed::runs_late();
    let ran = Arc::new(AtomicUsize::new(0));
    let busy = Srcu::new();
    let (begins, begun) = mpsc::channel();
    let (ends, end) = mpsc::channel::<()>();
    busy.defer_hurry(move || {
        begins.send(()).expect("the test listens");
        end.recv().expect("the test says when");
    });
    begun.recv().expect("the worker is there");
    for srcu in srcus {
        let ran = Arc::clone(&ran);
        srcu.defer(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        });
    }
    thread::sleep(DUE);
    assert_eq!(ran.load(Ordering::Relaxed), 0, "the worker is busy");
    ends.send(()).expect("the worker waits");
    ran
}

/// Fences issued for callbacks in so many `Srcu`s, the first of which have readers inside: when all others
/// have run, and when all have.
fn fences(inside: usize) -> [u64; 2] {
    let srcus: Vec<Srcu> = (0..MANY).map(|_| read_in()).collect();
    let readers: Vec<Guard<&Srcu>> = srcus[..inside].iter().map(Srcu::read_lock).collect();
    let before = statistics();
    let ran = due_at_the_same_time(&srcus);
    let some_ran = |count: usize| {
        until("they ran", || ran.load(Ordering::Relaxed) == count);
        statistics().fences_issued - before.fences_issued
    };
    let began = |srcu: &Srcu| srcu.statistics().fences >= 1;
    until("all have begun", || srcus.iter().all(began));
    some_ran(MANY - inside);
    until("the worker sleeps", || {
        let issued = statistics().fences_issued;
        thread::sleep(Duration::from_millis(20));
        statistics().fences_issued == issued
    });
    let first = some_ran(MANY - inside);
    drop(readers);
    let all = some_ran(MANY);
    let needed: u64 = srcus.iter().map(|srcu| srcu.statistics().fences).sum();
    let after = statistics();
    println!("{inside} readers inside: {needed} needed, {first} issued, {all} in all");
    assert!(needed >= MANY as u64, "each has needed one: {needed}");
    assert!(
        all + after.fences_shared - before.fences_shared >= needed,
        "each has had one: {all} and {after:?}"
    );
    [first, all]
}

/// In a process of its own: the counters of fences are those of the whole process.
fn in_membarrier_mode(body: impl FnOnce()) {
    isolated(|| {
        assert_eq!(statistics().fence_mode, FenceMode::Membarrier);
        body();
    });
}

#[test]
fn where_readers_carry_the_fence_none_is_issued() {
    let child = Isolated::new().fenced();
    child.run(|| {
        let counted = |statistics: quiescent::stats::Statistics| {
            (statistics.fences_issued, statistics.fences_shared)
        };
        let srcus: Vec<Srcu> = (0..MANY).map(|_| read_in()).collect();
        let ran = due_at_the_same_time(&srcus);
        until("they ran", || ran.load(Ordering::Relaxed) == MANY);
        assert_eq!(counted(statistics()), (0, 0));
    });
}

#[test]
fn what_is_due_at_the_same_time_shares_its_fences() {
    needs!(fence);
    in_membarrier_mode(|| {
        let [all, _] = fences(0);
        assert!(all <= 2 * MANY as u64 / TOGETHER, "{all} fences");
    });
}

#[test]
fn one_with_a_reader_inside_adds_a_few_fences_and_no_more() {
    needs!(fence);
    in_membarrier_mode(|| {
        let [others, all] = fences(1);
        assert!(others <= 2 * MANY as u64 / TOGETHER + 4, "{others} fences");
        assert!(all <= others + 4, "{others} fences, then {all}");
    });
}

#[test]
fn readers_inside_all_of_them_share_theirs_as_well() {
    needs!(fence);
    in_membarrier_mode(|| {
        let [flagged, _] = fences(MANY);
        assert!(flagged <= 6 * MANY as u64 / TOGETHER, "{flagged} fences");
    });
}

#[test]
fn threads_that_need_one_at_the_same_time_have_one_each_or_share_it() {
    needs!(fence);
    in_membarrier_mode(|| {
        const THREADS: usize = 8;
        const TIMES: u64 = 500;
        let srcus: Vec<Srcu> = (0..THREADS).map(|_| read_in()).collect();
        let before = statistics();
        thread::scope(|scope| {
            for srcu in &srcus {
                scope.spawn(|| (0..TIMES).for_each(|_| srcu.synchronize()));
            }
        });
        let after = statistics();
        let needed: u64 = srcus.iter().map(|srcu| srcu.statistics().fences).sum();
        let issued = after.fences_issued - before.fences_issued;
        let shared = after.fences_shared - before.fences_shared;
        assert!(needed >= TIMES * THREADS as u64);
        assert_eq!(issued + shared, needed, "{issued} issued, {shared} shared");
    });
}

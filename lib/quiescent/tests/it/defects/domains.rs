//! Domains of the program and `Srcu`s: readers without a slot, budgets, dropping, and reuse by the next
//! owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use quiescent::report::{Report, on_report};
use quiescent::{Cookie, Domain, Options, RcuCell, Refusal, Srcu, SyncError, read, statistics};

use crate::common::{PATIENCE, Reader, SHORT, healed, in_both_modes, isolated, until};

/// Threads that one leaf of slots serves.
const SLOTS: usize = 62;

/// Runs `body` in both fence modes, where every slot is taken by an idle thread.
fn without_slots(body: fn(&mut Vec<Reader>)) {
    let start = || {
        Options::new().max_threads(1).apply().expect("one leaf");
        let mut idle: Vec<_> = (0..SLOTS).map(|_| Reader::idle("has a slot")).collect();
        assert_eq!(statistics().registered as usize, SLOTS);
        body(&mut idle);
        idle.into_iter().for_each(Reader::end);
    };
    in_both_modes(start);
}

/// A grace period of a domain, which others drive.
struct GracePeriod(Cookie<Domain>);

impl GracePeriod {
    /// One that begins now, beside an open section.
    fn begin(domain: &Domain) -> GracePeriod {
        let new = GracePeriod(domain.start_grace_period());
        assert!(!new.ends());
        let waited = thread::scope(|it| it.spawn(|| domain.synchronize_timeout(SHORT)).join());
        let waited = waited.expect("no panic");
        assert!(matches!(waited, Err(SyncError::TimedOut { .. })));
        new
    }

    /// Whether it ends when another thread drives it.
    fn ends(&self) -> bool {
        let poll = || (0..10).any(|_| self.0.is_done());
        thread::scope(|scope| scope.spawn(poll).join().expect("no panic"))
    }
}

/// A grace period that began before the second section was opened waits for it as well: the thread was never
/// outside.
#[test]
fn a_section_without_a_slot_stays_on_its_side() {
    without_slots(|_| {
        let domain = Domain::new();
        for _ in 0..3 {
            let first = domain.read_lock();
            let older = GracePeriod::begin(&domain); // newcomers go to the other side
            let last = domain.read_lock();
            drop(first);
            assert!(!older.ends());
            drop(last);
            assert!(older.ends());
            assert_eq!(domain.synchronize_timeout(PATIENCE), Ok(()));
        }
    });
}

/// The same if it is in a section of another domain that the thread has joined its side.
#[test]
fn sections_without_a_slot_of_two_domains_are_on_one_side() {
    without_slots(|_| {
        let (domain, other) = (Domain::new(), Domain::new());
        let elsewhere = other.read_lock();
        let first = domain.read_lock();
        let older = GracePeriod::begin(&domain);
        let last = domain.read_lock();
        drop((elsewhere, first));
        assert!(!older.ends());
        assert_eq!(
            other.synchronize_timeout(PATIENCE),
            Err(SyncError::InsideSection)
        );
        drop(last);
        assert!(older.ends());
        assert_eq!(other.synchronize_timeout(PATIENCE), Ok(()));
    });
}

/// Nor has a slot that became free meanwhile the rest of a section.
#[test]
fn a_section_gets_no_slot_half_way() {
    without_slots(|idle| {
        let domain = Domain::new();
        let first = domain.read_lock();
        let older = GracePeriod::begin(&domain);
        idle.pop().expect("one of them").end();
        read(|_| ()); // would register the thread
        let last = domain.read_lock();
        drop(first);
        assert!(!older.ends());
        drop(last);
        assert!(older.ends());
        let registered = statistics().registered;
        drop(domain.read_lock());
        assert_eq!(statistics().registered, registered + 1, "now it has one");
    });
}

/// A slow callback holds the budget: a thread that waits for room does not issue fences in a loop.
#[test]
fn waiting_for_room_is_no_busy_loop() {
    isolated(|| {
        healed::runs_late();
        const LIMIT: Duration = Duration::from_millis(500);
        let domain = Domain::new();
        let (begun, has_begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        domain.defer_hurry(move || {
            begun.send(()).expect("the test waits");
            ended.recv().ok();
        });
        has_begun.recv().expect("it runs");
        domain.set_budget(u64::MAX, 1);
        let cell = RcuCell::new_in(1, &domain);
        let idle = Reader::idle("so that each grace period has a fence");
        let before = domain.statistics().grace_periods;
        let refused = cell.store(2).retire_wait(LIMIT).expect_err("no room");
        assert!(matches!(refused.reason, Refusal::TimedOut { .. }));
        let waited_for = domain.statistics().grace_periods - before;
        // It tries again a hundred times a second.
        assert!(waited_for <= 100, "{waited_for} grace periods in {LIMIT:?}");
        let old = refused.object;
        thread::scope(|scope| {
            let waits = scope.spawn(|| old.retire_wait(PATIENCE).is_ok());
            end.send(()).expect("it waits");
            assert!(waits.join().expect("no panic"), "now there is room");
        });
        idle.end();
    });
}

/// Retires another one in the same domain when it is dropped, as long as it may.
struct Again {
    cell: Arc<RcuCell<Option<Again>, Domain>>,
    may: Arc<AtomicBool>,
    dropped: Arc<AtomicU32>,
}

impl Drop for Again {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::AcqRel);
        if self.may.load(Ordering::Acquire) {
            let next = Again {
                cell: Arc::clone(&self.cell),
                may: Arc::clone(&self.may),
                dropped: Arc::clone(&self.dropped),
            };
            self.cell.store(Some(next)).retire();
            self.cell.store(None).retire();
        }
    }
}

/// A destructor that retires again has its time, also where nothing but what is queued keeps the domain: no
/// thread is kept for ever.
#[test]
fn a_domain_whose_destructors_retire_again_is_left_to_them() {
    isolated(|| {
        let domain = Domain::new();
        let cell = Arc::new(RcuCell::new_in(None, domain.clone()));
        let (may, dropped) = (Arc::new(AtomicBool::new(true)), Arc::default());
        let first = Again {
            cell: Arc::clone(&cell),
            may: Arc::clone(&may),
            dropped: Arc::clone(&dropped),
        };
        cell.store(Some(first)).retire();
        drop(domain);
        cell.store(None).retire_hurry();
        drop(cell); // from here on only what is queued keeps the domain
        until("it is dropped", || dropped.load(Ordering::Acquire) > 0);
        let (over, is_over) = mpsc::channel();
        thread::spawn(move || {
            quiescent::barrier();
            over.send(()).ok();
        });
        let ended = is_over.recv_timeout(PATIENCE / 2);
        may.store(false, Ordering::Release);
        assert!(ended.is_ok(), "what empties the domain does not end");
        assert_eq!(statistics().callbacks_stuck, 0);
    });
}

/// What one owner has set is not the next one's.
#[test]
fn a_new_srcu_reports_stalls_as_a_new_one_does() {
    isolated(|| {
        static STALLS: AtomicU32 = AtomicU32::new(0);
        on_report(|report| {
            if matches!(report, Report::Stalled(_)) {
                STALLS.fetch_add(1, Ordering::AcqRel);
            }
        });
        let first = Srcu::new();
        first.set_stall_after(Duration::ZERO); // never
        drop(first);
        let second = Srcu::new();
        let guard = second.read_lock();
        thread::scope(|scope| {
            scope.spawn(|| second.synchronize());
            until("the stall is reported", || {
                STALLS.load(Ordering::Acquire) > 0
            });
            drop(guard);
        });
    });
}

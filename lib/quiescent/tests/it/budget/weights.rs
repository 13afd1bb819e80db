//! Weights: what is shown equals what is held, wherever it is shown; what is weighed is held within the
//! budget.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quiescent::report::{Report, on_report, set_stall_after};
use quiescent::stats::Fullness;
use quiescent::telemetry;
use quiescent::tuning::set_budget;
use quiescent::{
    Domain, RcuCell, RcuList, RcuOption, Refusal, Srcu, Weigh, barrier, defer_hurry, defer_lazy,
    drain, statistics,
};

use super::{ENTRY, WORD, nothing_is_held};
use crate::common::healed;
use crate::common::{Numbers, Reader, isolated, until};

const KIB: usize = 1024;
const MIB: u64 = 1 << 20;

/// Values that were made and not dropped.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Calls of [`Heavy::bytes`].
static WEIGHED: AtomicUsize = AtomicUsize::new(0);

/// A value that declares the bytes it owns.
#[derive(Debug)]
struct Heavy(usize);

impl Heavy {
    fn new(bytes: usize) -> Heavy {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Heavy(bytes)
    }

    fn bytes(&self) -> usize {
        WEIGHED.fetch_add(1, Ordering::Relaxed);
        self.0
    }
}

impl Drop for Heavy {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a queued box of this size counts, without what it owns.
fn boxed(size: usize) -> usize {
    (size + WORD).next_multiple_of(2 * WORD).max(4 * WORD) + ENTRY
}

const HEAVY: usize = size_of::<Heavy>();
/// What a value with a destructor counts, if nothing is known.
const UNWEIGHED: usize = KIB;

fn amount(random: &mut Numbers) -> usize {
    let bits = random.below(23);
    random.below(1 << bits)
}

/// What this amount of owned bytes counts: at most eleven of its bits are kept, rounded up.
fn rounded(bytes: usize) -> usize {
    let mut unit = 1;
    while bytes.div_ceil(unit) > 2047 {
        unit *= 2;
    }
    bytes.div_ceil(unit) * unit
}

#[cfg(not(target_os = "linux"))]
fn telemetry_bytes() -> (u64, u64) {
    unreachable!("the test needs telemetry")
}

#[cfg(target_os = "linux")]
fn telemetry_bytes() -> (u64, u64) {
    let functions = crate::common::snapshot().expect("it was started").functions;
    let held = functions.iter().map(|it| it.held()).sum();
    (held, functions.iter().map(|it| it.held_bytes()).sum())
}

static REPORTED: Mutex<Option<Fullness>> = Mutex::new(None);
static STALLED: Mutex<Option<(u64, u64)>> = Mutex::new(None);

fn note(report: &Report) {
    match report {
        Report::OverBudget { full, .. } => *REPORTED.lock().expect("not poisoned") = Some(*full),
        Report::Stalled(stalled) => {
            let held = (stalled.queued, stalled.queued_bytes);
            *STALLED.lock().expect("not poisoned") = Some(held);
        }
        _ => {}
    }
}

#[test]
fn what_is_shown_is_what_is_held() {
    needs!(telemetry);
    isolated(|| {
        healed::expected();
        telemetry::start().expect("a page");
        on_report(note);
        set_budget(u64::MAX, u64::MAX);
        let mut random = Numbers(23);
        let by_function = RcuCell::new(Heavy::new(0)).with_weight(Heavy::bytes);
        let unweighed = RcuCell::new(Heavy::new(0));
        let option = RcuOption::new(Some(Heavy::new(0))).with_weight(Heavy::bytes);
        let text = RcuCell::new(String::new()).weighed();
        let plain = RcuCell::new([0u8; 64]);
        let reader = Reader::inside("stalled");
        let (mut held, mut count, mut weighed) = (0, 0, 0);
        for n in 0..20_000 {
            let next = amount(&mut random);
            held += match random.below(10) {
                0 => {
                    let old = by_function.store(Heavy::new(next));
                    let bytes = old.0;
                    weighed += 1;
                    old.retire();
                    boxed(HEAVY) + rounded(bytes)
                }
                1 => {
                    let old = by_function.update(|_| Heavy::new(next));
                    let bytes = old.0;
                    weighed += 1;
                    old.on_worker().retire();
                    boxed(HEAVY) + rounded(bytes)
                }
                2 => {
                    let old = option.store(Some(Heavy::new(next))).expect("it was full");
                    let bytes = old.0;
                    weighed += 1;
                    assert!(old.try_retire().is_ok());
                    boxed(HEAVY) + rounded(bytes)
                }
                3 => {
                    let old = by_function.store(Heavy::new(next));
                    let bytes = old.0;
                    weighed += 1;
                    old.with_owned_bytes(8).with_owned_bytes(8).retire_hurry();
                    boxed(HEAVY) + rounded(bytes + 16)
                }
                4 => {
                    let old = unweighed.store(Heavy::new(next));
                    match random.below(2) {
                        0 => drop(old),
                        _ => old.on_worker().retire(),
                    }
                    boxed(HEAVY) + UNWEIGHED
                }
                5 => {
                    unweighed
                        .store(Heavy::new(next))
                        .with_owned_bytes(next)
                        .retire();
                    boxed(HEAVY) + rounded(next)
                }
                6 => {
                    drop(plain.store([0; 64]));
                    boxed(64)
                }
                7 => {
                    plain.store([0; 64]).with_owned_bytes(next).retire();
                    boxed(64) + rounded(next)
                }
                8 => {
                    let words = [7u64; 3];
                    defer_lazy(move || assert_eq!(words, [7; 3]));
                    boxed(size_of_val(&words))
                }
                _ => {
                    let old = text.store("x".repeat(next % 4000));
                    let bytes = match old.capacity() {
                        0 => 0,
                        some => boxed(some) - ENTRY,
                    };
                    drop(old);
                    boxed(size_of::<String>()) + rounded(bytes)
                }
            };
            count += 1;
            let shown = statistics();
            assert_eq!(
                (shown.queued, shown.queued_bytes),
                (count, held as u64),
                "after {n}"
            );
            if n % 1000 == 999 {
                drain(Duration::ZERO); // takes everything over; nothing can be freed
                assert_eq!(telemetry_bytes(), (count, held as u64), "after {n}");
            }
        }
        assert_eq!(WEIGHED.load(Ordering::Relaxed), weighed, "each once");
        // A stall report: one more callback calls the worker.
        set_stall_after(Duration::from_millis(1));
        defer_hurry(|| ());
        (held, count) = (held + ENTRY, count + 1);
        // A report that was being made may be without it; they are repeated.
        until("a stall is reported with all that is held", || {
            *STALLED.lock().expect("not poisoned") == Some((count, held as u64))
        });
        // Refusals, and the report that the budget is exceeded.
        set_budget(MIB, u64::MAX);
        let refused = plain.store([0; 64]).try_retire().expect_err("no room");
        let Refusal::Full(full) = &refused.reason else {
            panic!("{refused}");
        };
        assert_eq!((full.held_callbacks, full.held_bytes), (count, held as u64));
        until("it is reported", || {
            REPORTED.lock().expect("not poisoned").is_some()
        });
        assert_eq!(*REPORTED.lock().expect("not poisoned"), Some(*full));
        set_budget(u64::MAX, u64::MAX);
        refused.object.retire();
        reader.end();
        barrier();
        assert_eq!(telemetry_bytes(), (0, 0));
        drop((by_function, unweighed, option));
        assert_eq!(LIVE.load(Ordering::Relaxed), 0, "all were dropped");
        nothing_is_held();
    });
}

#[test]
fn old_values_of_64_kib_are_reported_at_the_budget_and_refused() {
    const UPDATES: u64 = 12_000;
    const BUDGET: u64 = 64 * MIB;
    // What an old one counts: with what it owns, rounded to a multiple of 64.
    let owned = (64 * KIB + WORD).next_multiple_of(64);
    let each = (boxed(size_of::<String>()) + owned) as u64;
    fn text() -> String {
        String::with_capacity(64 * KIB)
    }
    isolated(|| {
        on_report(note);
        set_stall_after(Duration::ZERO); // the reader stays for as long as the updates take
        let cell = RcuCell::new(text()).weighed();
        let reader = Reader::inside("stalled");
        for _ in 0..UPDATES {
            if let Err(refused) = cell.store(text()).try_retire() {
                refused.object.leak();
            }
        }
        let now = statistics();
        assert!(now.queued_bytes <= BUDGET, "{now:?}");
        assert!(now.queued_bytes >= BUDGET / 8 * 7, "{now:?}");
        assert_eq!((now.refused, now.over_budget), (UPDATES - now.queued, 0));
        for _ in now.queued..UPDATES {
            cell.store(text()).retire();
        }
        until("it is reported", || {
            REPORTED.lock().expect("not poisoned").is_some()
        });
        let now = statistics();
        assert_eq!((now.queued, now.over_budget), (UPDATES, 1));
        assert_eq!(
            now.queued_bytes,
            UPDATES * each,
            "64 KiB and a word, rounded"
        );
        reader.end();
        barrier();
        nothing_is_held();
    });
}

#[test]
fn every_domain_weighs() {
    isolated(|| {
        fn weighed<D: quiescent::Handle>(domain: D, bytes: impl Fn() -> u64) {
            let cell = RcuCell::new_in(vec![0u8; 1000], domain).weighed();
            for n in 1..=200 {
                cell.store(vec![0; 1000]).retire();
                let each = boxed(size_of::<Vec<u8>>()) + boxed(1000) - ENTRY;
                assert_eq!(bytes(), n * each as u64, "{n}");
            }
        }
        let domain = Domain::new();
        let guard = domain.read_lock();
        weighed(&domain, || domain.statistics().queued_bytes);
        drop(guard);
        let srcu = Srcu::new();
        let guard = srcu.read_lock();
        weighed(&srcu, || srcu.statistics().queued_bytes);
        drop(guard);
        domain.barrier();
        srcu.barrier();
        assert_eq!(
            domain.statistics().queued_bytes + srcu.statistics().queued_bytes,
            0
        );
    });
}

#[test]
fn a_weight_that_panics_loses_nothing() {
    isolated(|| {
        let cell = RcuCell::new(Heavy::new(1)).with_weight(|heavy| match heavy.bytes() {
            1 => panic!("no weight"),
            bytes => bytes,
        });
        let reader = Reader::inside("stalled");
        let store = || drop(cell.store(Heavy::new(2)));
        assert!(catch_unwind(AssertUnwindSafe(store)).is_err());
        let bytes = (boxed(HEAVY) + UNWEIGHED) as u64;
        assert_eq!((statistics().queued, statistics().queued_bytes), (1, bytes));
        let update = || drop(cell.update(|_| Heavy::new(1)));
        assert!(catch_unwind(AssertUnwindSafe(update)).is_ok());
        let update = || drop(cell.update(|_| Heavy::new(2)));
        assert!(catch_unwind(AssertUnwindSafe(update)).is_err());
        assert!(!quiescent::in_section(), "its section has ended");
        assert_eq!(
            (
                LIVE.load(Ordering::Relaxed),
                WEIGHED.load(Ordering::Relaxed)
            ),
            (4, 3)
        );
        reader.end();
        barrier();
        drop(cell);
        assert_eq!(LIVE.load(Ordering::Relaxed), 0);
        nothing_is_held();
    });
}

#[test]
fn a_list_weighs_what_it_removes() {
    isolated(|| {
        let list = RcuList::new().with_weight(Heavy::bytes);
        [1, 2, 3, 0, 5]
            .into_iter()
            .for_each(|bytes| list.push_front(Heavy::new(bytes)));
        let node = boxed(HEAVY + size_of::<usize>()) as u64;
        let reader = Reader::inside("stalled");
        assert!(list.remove_first(|it| it.0 == 5).is_some());
        assert!(list.replace(Heavy::new(7), |it| it.0 == 3).is_ok());
        assert_eq!(statistics().queued_bytes, 2 * node + 8);
        assert_eq!(list.clear(), 4);
        assert_eq!(statistics().queued_bytes, 6 * node + 18);
        // One that panics: all are retired, those from it on without a weight.
        let list = RcuList::new().with_weight(|heavy: &Heavy| 10 / heavy.0);
        [1, 0, 5]
            .into_iter()
            .for_each(|bytes| list.push_front(Heavy::new(bytes)));
        assert!(catch_unwind(AssertUnwindSafe(|| list.clear())).is_err());
        let bytes = 9 * node + 20 + 2 * UNWEIGHED as u64;
        assert_eq!((statistics().queued, statistics().queued_bytes), (9, bytes));
        assert!(list.is_empty());
        list.push_front(Heavy::new(1));
        reader.end();
        barrier();
        drop(list);
        assert_eq!(LIVE.load(Ordering::Relaxed), 0);
        nothing_is_held();
    });
}

#[test]
fn mixed_weights_come_to_nothing_at_the_end() {
    isolated(|| {
        let cell = RcuCell::new(Heavy::new(0)).with_weight(Heavy::bytes);
        let mut random = Numbers(5);
        for n in 0..50_000 {
            let heavy = if random.below(100) == 0 { 1 << 20 } else { 0 };
            drop(cell.store(Heavy::new(heavy)));
            if n % 5000 == 0 {
                barrier();
                assert_eq!((statistics().queued, statistics().queued_bytes), (0, 0));
            }
        }
        nothing_is_held();
    });
}

/// The bytes that the allocator has given out.
#[cfg(target_os = "linux")]
fn allocated() -> usize {
    // SAFETY: no argument.
    unsafe { libc::mallinfo2() }.uordblks
}

/// What a value says that it owns is what the allocator gave out for it, up to a share.
#[cfg(target_os = "linux")]
fn close<T: Weigh>(make: impl Fn() -> T, percent: usize) {
    // Other threads of the process may allocate meanwhile: the least of some.
    let (took, says) = (0..9)
        .map(|_| {
            let before = allocated();
            let value = make();
            let took = allocated().saturating_sub(before);
            let says = value.owned_bytes();
            std::mem::forget(value); // else its blocks are reused, and counted as given out
            (took, says)
        })
        .min_by_key(|&(took, says)| took.abs_diff(says))
        .expect("nine of them");
    let name = std::any::type_name::<T>();
    assert!(
        took.abs_diff(says) <= took * percent / 100,
        "{name}: {says} of {took}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn standard_owners_weigh_what_they_allocate() {
    isolated(|| {
        // SAFETY: two numbers: nothing is mapped apart, so that everything is in one sum.
        assert_eq!(unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 29) }, 1);
        for size in [3000, 20_000, 28_000u32] {
            let all = || (0..size).map(|n| n * 7919 % size);
            close(|| "x".repeat(size as usize), 1);
            close(|| all().collect::<Vec<_>>(), 1);
            close(|| all().collect::<VecDeque<_>>(), 1);
            close(|| Some(all().collect::<Box<[u32]>>()), 1);
            close(|| Arc::new([size; 1500]), 1);
            close(|| (size, vec![1u64; size as usize], 'x'), 1);
            close(|| all().zip(all()).collect::<HashMap<u32, u32>>(), 5);
            close(|| all().map(u64::from).collect::<HashSet<u64>>(), 5);
            close(|| all().zip(all()).collect::<BTreeMap<u32, u32>>(), 50);
            let insert = |mut set: BTreeSet<u32>, n| {
                set.insert(n);
                set
            };
            close(|| all().fold(BTreeSet::new(), insert), 50);
        }
        assert_eq!(
            String::new().owned_bytes() + Vec::<u64>::new().owned_bytes(),
            0
        );
        assert_eq!(
            BTreeSet::<u8>::new().owned_bytes() + HashMap::<u8, u8>::new().owned_bytes(),
            0
        );
        let alone = Arc::new([1u64; 20]);
        assert_eq!(alone.owned_bytes(), boxed(160 + 2 * WORD) - ENTRY);
        assert_eq!((Arc::clone(&alone), 1u8).owned_bytes(), 0, "another owner");
    });
}

/// The blocks count, not what is in them: each container has room for more, by growth, by reservation, or
/// since elements were removed.
#[cfg(target_os = "linux")]
#[test]
fn standard_owners_weigh_what_is_empty_in_their_blocks() {
    isolated(|| {
        // SAFETY: two numbers: nothing is mapped apart, so that everything is in one sum.
        assert_eq!(unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 29) }, 1);
        for size in [5000, 20_000, 70_000u32] {
            let (most, few) = (size as usize, 10);
            let all = || (0..size).map(|n| n * 7919 % size);
            close(|| String::with_capacity(most) + "x", 1);
            close(
                || all().fold(String::new(), |text, n| text + &n.to_string()),
                1,
            );
            close(|| Vec::<u64>::with_capacity(most), 1);
            close(
                || {
                    let mut grown = Vec::new();
                    all().for_each(|n| grown.push(n));
                    grown.truncate(few);
                    grown
                },
                1,
            );
            close(
                || {
                    let mut turned = VecDeque::new();
                    all().for_each(|n| turned.push_back(n));
                    all().skip(few).for_each(|_| _ = turned.pop_front());
                    turned
                },
                1,
            );
            close(|| VecDeque::<u64>::with_capacity(most), 1);
            close(|| Vec::<u64>::with_capacity(most).into_boxed_slice(), 1);
            close(|| Some(all().collect::<Vec<_>>().into_boxed_slice()), 1);
            close(|| Arc::<[u32]>::from(all().collect::<Vec<_>>()), 1);
            close(
                || {
                    let mut emptied: HashMap<u32, u32> = all().zip(all()).collect();
                    emptied.retain(|&key, _| key < few as u32);
                    emptied
                },
                10,
            );
            close(|| HashMap::<u64, u64>::with_capacity(most), 5);
            close(|| HashSet::<u32>::with_capacity(most), 5);
        }
    });
}

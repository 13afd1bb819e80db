//! Values and closures of unusual shapes: of size 0, heavier than any memory, aligned to a page, with
//! uninitialized bytes. The allocator accepts only what it has returned with the same layout.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::common::deferral::Ledger;
use crate::common::{PATIENCE, Reader, in_both_modes, on_thread, until};
use crate::strict::{PAGE, PAGES, WRONG};
use quiescent::{RcuCell, RcuList, Retired, barrier, defer, defer_hurry, drain, statistics};

/// Everything queued is gone, and nothing but what was given came back.
#[track_caller]
fn assert_all_gone() {
    barrier();
    let now = statistics();
    assert_eq!((now.queued, now.queued_bytes, now.leaked), (0, 0, 0));
    assert_eq!(WRONG.load(Ordering::Relaxed), 0, "layouts differ");
}

/// Reclaims `times` values in each way there is, in this thread; how many that were.
fn in_every_way<T: Send + Sync + 'static>(times: u32, make: fn() -> T) -> u32 {
    let cell = RcuCell::new(make());
    let leaked = || NonNull::from(Box::leak(Box::new(make())));
    for _ in 0..times {
        drop(cell.store(make()));
        cell.store(make()).retire();
        cell.store(make()).retire_hurry();
        cell.store(make()).with_owned_bytes(PAGE).retire();
        (cell.store(make())).retire();
        (cell.store(make())).retire_hurry();
        drop(cell.store(make()).wait());
        // SAFETY: a box of ours (of no size, perhaps), retired once.
        unsafe { Retired::from_raw(leaked()).retire() };
        // SAFETY: as above.
        unsafe { Retired::from_raw(leaked()).retire_hurry() };
    }
    let list = RcuList::from_iter([make(), make()]);
    list.clear();
    times * 9 + 2 + 1 // the cell's last one goes with it
}

/// Values that are made and dropped.
static DROPS: AtomicU32 = AtomicU32::new(0);

fn dropped() {
    DROPS.fetch_add(1, Ordering::Relaxed);
}

struct Nothing;

#[repr(align(4096))]
struct WideNothing;

struct Noted;

impl Drop for Noted {
    fn drop(&mut self) {
        dropped();
    }
}

#[repr(align(4096))]
struct WideNoted;

impl Drop for WideNoted {
    fn drop(&mut self) {
        dropped();
        assert_eq!(black_box(&raw const *self).addr() % PAGE, 0);
    }
}

#[test]
fn what_has_no_size_is_dropped_but_not_freed() {
    in_both_modes(|| {
        assert_eq!(size_of::<(Nothing, WideNothing, Noted, WideNoted)>(), 0);
        let all = || {
            in_every_way(30, || ());
            in_every_way(30, || Nothing);
            in_every_way(30, || WideNothing);
            in_every_way(30, || Noted) + in_every_way(30, || WideNoted)
        };
        let here = all();
        assert_all_gone();
        assert_eq!(DROPS.swap(0, Ordering::Relaxed), here);
        let there = on_thread("departed", all);
        assert_all_gone();
        assert_eq!(DROPS.swap(0, Ordering::Relaxed), there);
        let drained = all();
        assert_eq!(drain(PATIENCE).left, 0);
        assert_all_gone();
        assert_eq!(DROPS.swap(0, Ordering::Relaxed), drained);
        assert_eq!(statistics().callback_panics, 0);
    });
}

#[test]
fn weights_beyond_all_memory() {
    in_both_modes(|| {
        const HEAVY: usize = 20;
        for round in 0..2 {
            let ledger = Ledger::new(2 * HEAVY);
            let plain = RcuCell::new(0u64);
            let inside = Reader::inside("inside");
            (0..3).for_each(|n| drop(plain.store(n)));
            assert!(!statistics().busy, "round {round}: light ones are lazy");
            // That much does not wait for another reason to start a grace period.
            plain.store(3).with_owned_bytes(usize::MAX).retire();
            assert!(statistics().busy, "round {round}");
            assert!(statistics().queued_bytes > 1 << 32, "{:?}", statistics());
            let cell = RcuCell::new(None);
            for n in 0..HEAVY {
                let heavy = |value| {
                    cell.store(value)
                        .with_owned_bytes(usize::MAX)
                        .with_owned_bytes(usize::MAX)
                };
                heavy(Some(ledger.thing(n))).retire();
                heavy(None).retire();
                heavy(Some(ledger.thing(HEAVY + n))).retire_hurry();
                heavy(None).retire_hurry();
                plain.store(4).with_owned_bytes(usize::MAX - n).retire();
                plain
                    .store(5)
                    .with_owned_bytes(usize::MAX >> 1)
                    .retire_hurry();
            }
            assert_eq!(ledger.count(), 0);
            inside.end();
            assert_all_gone();
            ledger.assert_all_once();
            // No thread drives a grace period whose requester no longer needs it. The next waiter drives it,
            // too.
            quiescent::synchronize();
            until("no grace period is wanted", || !statistics().busy);
        }
    });
}

/// Closures that have run, and the sum of what they found in their captures.
static RAN: AtomicU32 = AtomicU32::new(0);
static SUM: AtomicU64 = AtomicU64::new(0);

fn ran(value: u64) {
    SUM.fetch_add(value, Ordering::Relaxed);
    RAN.fetch_add(1, Ordering::Relaxed);
}

/// Queues a closure, and says how large it is.
fn queue<F: FnOnce() + Send + 'static>(f: F, hurry: bool) -> usize {
    match hurry {
        true => defer_hurry(f),
        false => defer(f),
    }
    size_of::<F>()
}

/// A closure of `N` bytes, aligned to one; the sum of what is in there.
fn bytes<const N: usize>(seed: u8, hurry: bool) -> u64 {
    let captured: [u8; N] = std::array::from_fn(|index| seed.wrapping_add(index as u8));
    let sum = move |bytes: [u8; N]| bytes.into_iter().map(u64::from).sum();
    let size = queue(move || ran(sum(black_box(captured))), hurry);
    assert_eq!(size, N);
    sum(captured)
}

#[repr(C, packed)]
struct Packed(u8, u32);

#[repr(align(2))]
struct Even([u8; 6]);

#[repr(align(16))]
struct Wide(u8);

#[repr(align(4096))]
struct Page(u8);

/// A closure that holds `value`, and nothing else; how large it is. `sum` captures nothing.
fn holding<T: Send + 'static>(
    hurry: bool,
    value: T,
    sum: impl FnOnce(T) -> u64 + Send + 'static,
) -> usize {
    queue(move || ran(sum(black_box(value))), hurry)
}

/// Ten closures with holes in them, or aligned oddly; the sum of what they find.
fn shapes(seed: u8, hurry: bool) -> u64 {
    let (one, wide) = (u64::from(seed), u32::from(seed) << 20);
    let four = u64::from(wide);
    let option = seed.is_multiple_of(2).then_some(wide);
    let never = MaybeUninit::<u64>::uninit();
    let mut hardly = [MaybeUninit::<u8>::uninit(); 8];
    hardly[5].write(seed);
    let sizes = [
        // Holes: between the bytes, behind them, and where nothing was ever written.
        holding(hurry, (seed, wide), |(a, b)| u64::from(a) + u64::from(b)),
        holding(hurry, (seed, u16::from(seed)), |(a, b)| {
            u64::from(a) + u64::from(b)
        }),
        holding(hurry, option, |option| option.map_or(0, u64::from)),
        holding(hurry, never, |_| 1),
        // SAFETY: this byte was written.
        holding(hurry, hardly, |bytes| unsafe {
            u64::from(bytes[5].assume_init())
        }),
        // Aligned to less than their size, and to more than a word.
        holding(hurry, Packed(seed, wide), |Packed(a, b)| {
            u64::from(a) + u64::from(b)
        }),
        holding(hurry, Even([seed; 6]), |Even(bytes)| {
            bytes.into_iter().map(u64::from).sum()
        }),
        holding(hurry, Wide(seed), |wide| {
            on_its_place(&wide) + u64::from(wide.0)
        }),
        holding(hurry, WideNothing, |nothing| on_its_place(&nothing)),
        holding(hurry, Page(seed), |page| {
            on_its_place(&page) + u64::from(page.0)
        }),
    ];
    assert_eq!(sizes, [8, 4, 8, 8, 8, 5, 6, 16, 0, PAGE]);
    let holes = (one + four) + 2 * one + option.map_or(0, u64::from) + 1 + one;
    let odd = (one + four) + 6 * one + (1 + one) + 1 + (1 + one);
    holes + odd
}

/// 1 if `value` is where it may be.
fn on_its_place<T>(value: &T) -> u64 {
    let address = black_box(&raw const *value).addr();
    u64::from(address.is_multiple_of(align_of::<T>()))
}

#[test]
fn closures_run_with_what_they_captured() {
    in_both_modes(|| {
        let (mut sum, mut queued) = (0, 0);
        for seed in 0..=255 {
            let hurry = seed % 16 == 15;
            sum += [
                bytes::<0>,
                bytes::<1>,
                bytes::<2>,
                bytes::<3>,
                bytes::<4>,
                bytes::<5>,
                bytes::<6>,
                bytes::<7>,
                bytes::<8>,
                bytes::<9>,
                bytes::<17>,
            ]
            .map(|queue| queue(seed, hurry))
            .into_iter()
            .sum::<u64>();
            sum += shapes(seed, hurry);
            queued += 11 + 10;
            if seed % 100 == 99 {
                assert_all_gone();
                assert_eq!(RAN.load(Ordering::Relaxed), queued);
                assert_eq!(SUM.load(Ordering::Relaxed), sum);
            }
        }
        assert_all_gone();
        assert_eq!(RAN.load(Ordering::Relaxed), queued);
        assert_eq!(SUM.load(Ordering::Relaxed), sum);
        assert_eq!(statistics().callback_panics, 0);
    });
}

/// A page that is dropped, not just freed.
struct NotedPage(Page);

impl Drop for NotedPage {
    fn drop(&mut self) {
        assert_eq!((on_its_place(self), self.0.0), (1, 7));
        dropped();
    }
}

// Not more: without optimisation it is on the stack several times in each way.
#[repr(align(16384))]
struct Huge(#[allow(dead_code, reason = "it makes it a size")] u8);

#[test]
fn what_is_aligned_to_pages_is_freed_as_such() {
    in_both_modes(|| {
        let before = PAGES.load(Ordering::Relaxed);
        // Freed by this thread in passing, by the worker, by `drain`, for a thread that is gone.
        let all = || {
            in_every_way(5, || Huge(6));
            in_every_way(100, || Page(6));
            in_every_way(100, || NotedPage(Page(7)))
        };
        let mut expected = all();
        assert_all_gone();
        expected += on_thread("departed", all);
        assert_all_gone();
        expected += all();
        assert_eq!(drain(PATIENCE).left, 0);
        assert_all_gone();
        assert_eq!(PAGES.load(Ordering::Relaxed), before);
        assert_eq!(DROPS.load(Ordering::Relaxed), expected);
        assert_eq!(statistics().callback_panics, 0);
    });
}

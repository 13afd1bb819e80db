//! Many signals whose handler reads, during everything that a thread can do: lock and unlock, its first
//! section, `malloc`, `repin`, deep nesting, waiting, ending. No handler may see poison, deadlock, or leave
//! anything behind.

use std::ffi::c_void;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;

use crate::common::oracle::{Canary, read_somehow};
use crate::common::{Numbers, PATIENCE, Reader, in_both_modes, until};
use quiescent::{
    Guard, Options, RcuCell, in_section, read_lock, statistics, synchronize, synchronize_timeout,
};

/// Handlers in a run, at least.
const HANDLERS: u64 = 5000;
/// Threads that live and end in it, at least, of either kind.
const LIVES: u64 = 50;
/// Replacements in it, at least.
const UPDATES: u64 = 200;

static CELL: OnceLock<RcuCell<Canary>> = OnceLock::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);
static POISONED: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

/// Threads that the storm goes for.
static TARGETS: [AtomicI32; 5] = [const { AtomicI32::new(0) }; 5];

fn cell() -> &'static RcuCell<Canary> {
    CELL.get_or_init(|| RcuCell::new(Canary::new()))
}

/// Reads, twice nested.
extern "C" fn handler(_signal: libc::c_int) {
    if let Some(cell) = CELL.get() {
        let outer = read_lock();
        let before = cell.load(&outer).is_alive();
        let inner = read_lock();
        let value = cell.load(&inner);
        drop(outer);
        let alive = before && value.is_alive();
        drop(inner);
        POISONED.fetch_add(u64::from(!alive), Ordering::Relaxed);
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
}

fn install_handler() {
    // SAFETY: an all-zero sigaction is one: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete; its handler reads, which is allowed anywhere, and adds to atomics.
    let installed = unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
    assert_eq!(installed, 0);
}

/// Ends the storm for a thread, once the library's hook has run: a handler that reads later still, when
/// no destructor will run any more, keeps a slot (and blocks no grace period).
unsafe extern "C" fn no_more(_value: *mut c_void) {
    // SAFETY: a signal set may be all zeroes, and is made empty.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a signal set of ours.
    unsafe {
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// The calling thread is a target from now on, until its last destructors run.
fn be_target(place: usize) {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is writable; the destructor has the right type. The library's own key is older,
        // so its destructor runs first.
        let made = unsafe { libc::pthread_key_create(&mut key, Some(no_more)) };
        assert_eq!(made, 0);
        key
    });
    // SAFETY: the key exists; its destructor ignores the value.
    let set = unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
    assert_eq!(set, 0);
    TARGETS[place].store(crate::common::thread_id() as i32, Ordering::Relaxed);
}

/// Sends signals until `STOP` is set. A signal to a thread that has ended has no effect.
fn storm() {
    // SAFETY: getpid cannot fail.
    let process = unsafe { libc::getpid() };
    while !STOP.load(Ordering::Relaxed) {
        for target in &TARGETS {
            let thread = target.load(Ordering::Relaxed);
            if thread != 0 {
                // SAFETY: three integers.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
            }
        }
        // Let them do something in between.
        for _ in 0..200 {
            std::hint::spin_loop();
        }
        thread::yield_now();
    }
}

fn reader() {
    be_target(0);
    let mut numbers = Numbers(3);
    while !STOP.load(Ordering::Relaxed) {
        read_somehow(cell(), &mut numbers);
        assert!(!in_section());
    }
}

/// Threads, one after the other, that begin with a section and end amid signals.
fn births(lives: &AtomicU64) {
    while !STOP.load(Ordering::Relaxed) {
        let born = thread::spawn(|| {
            be_target(1);
            for seed in 0..50 {
                read_somehow(cell(), &mut Numbers(seed));
            }
            assert!(!in_section());
        });
        born.join().expect("no panic");
        lives.fetch_add(1, Ordering::Relaxed);
    }
}

/// Threads whose first section is a handler's, most likely one that interrupted the allocator.
fn allocators(lives: &AtomicU64) {
    while !STOP.load(Ordering::Relaxed) {
        let born = thread::spawn(|| {
            be_target(2);
            let mut kept: Vec<Vec<u8>> = Vec::new();
            for i in 0..2000usize {
                kept.push(black_box(vec![1; i * 37 % 5000]));
                if i % 3 == 0 {
                    kept.swap_remove(i * 7 % kept.len());
                }
            }
            assert!(!in_section());
        });
        born.join().expect("no panic");
        lives.fetch_add(1, Ordering::Relaxed);
    }
}

/// Nests around the limit beyond which guards take the slower path.
fn deep() {
    be_target(3);
    while !STOP.load(Ordering::Relaxed) {
        let mut guards: Vec<Guard> = (0..(1 << 15) - 2).map(|_| read_lock()).collect();
        for _ in 0..200 {
            guards.extend((0..4).map(|_| read_lock()));
            let kept = guards.len() - 4;
            guards.swap(kept - 1, kept + 1);
            guards.truncate(kept);
        }
        drop(guards);
        assert!(!in_section());
        thread::yield_now();
    }
}

fn updater(updates: &AtomicU64) {
    be_target(4);
    let mut quarantine: Vec<Option<Box<Canary>>> = (0..64).map(|_| None).collect();
    while !STOP.load(Ordering::Relaxed) {
        let old = cell().store(Canary::new()).wait();
        old.poison();
        let round = updates.fetch_add(1, Ordering::Relaxed);
        quarantine[round as usize % 64] = Some(old);
    }
    // Readers in handlers may come until the storm is over; the last values live on in the cell.
}

fn run() {
    cell();
    install_handler();
    let (lives, updates) = ([AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(storm);
        scope.spawn(reader);
        scope.spawn(|| births(&lives[0]));
        scope.spawn(|| allocators(&lives[1]));
        scope.spawn(deep);
        scope.spawn(|| updater(&updates));
        until("the storm has raged enough", || {
            HANDLED.load(Ordering::Relaxed) >= HANDLERS
                && lives
                    .iter()
                    .all(|lives| lives.load(Ordering::Relaxed) >= LIVES)
                && updates.load(Ordering::Relaxed) >= UPDATES
        });
        STOP.store(true, Ordering::Relaxed);
    });
    println!(
        "{HANDLED:?} handlers, {lives:?} lives, {updates:?} updates, {:?}",
        statistics()
    );
    assert_eq!(
        POISONED.load(Ordering::Relaxed),
        0,
        "handlers saw what could have been freed"
    );
    assert!(!in_section());
    assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    synchronize();
    assert_eq!(statistics().stalls, 0);
}

#[test]
fn handlers_may_read_at_any_time() {
    needs!(signals);
    let body = || {
        run();
        assert_eq!(statistics().unregistered_sections, 0);
        until("all slots come back", || statistics().registered == 0);
    };
    in_both_modes(body);
}

#[test]
fn handlers_may_read_without_slots() {
    needs!(signals);
    let body = || {
        Options::new().max_threads(1).apply().expect("one leaf");
        // One slot is left, for the first thread.
        let idle: Vec<_> = (0..61).map(|_| Reader::idle("has a slot")).collect();
        run();
        assert!(statistics().unregistered_sections > 0);
        until("all slots come back", || statistics().registered == 61);
        idle.into_iter().for_each(Reader::end);
    };
    in_both_modes(body);
}

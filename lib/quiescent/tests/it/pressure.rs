//! Memory pressure: lazy items are freed when memory is low, many notices cost only a few grace periods, and
//! the worker does not listen while nothing is queued (rule R5).
//!
//! Flush times are an hour here, so only low memory flushes.

use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::children::in_child;
use crate::common::deferral::{Ledger, flag, library_threads, queue_somehow, until_at_rest};
use crate::common::{Isolated, in_both_modes, on_thread, test_name, until};
use quiescent::stats::{PressureSource, PressureSources};
use quiescent::tuning::{FlushTimes, memory_is_low, set_flush_times};
use quiescent::{Options, RcuCell, barrier, defer, drain, read_lock, statistics};

/// Lazy for ever, as far as a test can tell.
fn lazy_for_ever() {
    let hour = Duration::from_secs(3600);
    set_flush_times(FlushTimes {
        lazy: hour,
        prompt: hour,
    });
}

/// Runs `body` in processes that hear the kernel, in both modes. If the machine is short of memory just then,
/// it fails rightly, and shows nothing.
fn where_the_kernel_is_heard(body: fn()) {
    let unless_it_speaks = || {
        let Err(panic) = catch_unwind(body) else {
            return;
        };
        if statistics().pressure_events == 0 {
            resume_unwind(panic);
        }
        eprintln!("SKIPPED: {}: the machine is short of memory", test_name());
    };
    let test = Isolated::new().hears_the_kernel();
    test.clone().run(unless_it_speaks);
    test.fenced().run(unless_it_speaks);
}

/// So many of the kernel's sources are listened to, it is said.
fn armed(sources: PressureSources) -> usize {
    let all = [sources.system, sources.group, sources.limits];
    let is_armed = |source: &&PressureSource| **source == PressureSource::Armed;
    all.iter().filter(is_armed).count()
}

/// From the kernel: how many descriptors are in the library's `epoll` set.
fn listened_to() -> usize {
    let all = std::fs::read_dir("/proc/self/fdinfo").expect("/proc");
    let texts = all.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let count = |text: String| text.lines().filter(|line| line.starts_with("tfd:")).count();
    texts.map(count).max().unwrap_or(0)
}

/// The event and the timer.
const ALWAYS: usize = 2;

/// Queues lazily in a quiet thread, a departed one and this one: `ledger` has room for three, and an object
/// of plain memory goes along with each.
fn queue_everywhere(ledger: &'static Ledger) -> impl FnOnce() {
    fn queue(ledger: &'static Ledger, index: usize) {
        queue_somehow(ledger.thing(index), 8);
        drop(RcuCell::new(index).store(index));
    }
    let (done, queued) = (flag(), flag());
    let quiet = thread::spawn(move || {
        queue(ledger, 0);
        queued.store(true, Ordering::Release);
        until("the test is over", || done.load(Ordering::Acquire));
    });
    on_thread("departed", move || queue(ledger, 1));
    queue(ledger, 2);
    until("it is queued", || queued.load(Ordering::Acquire));
    move || {
        done.store(true, Ordering::Release);
        quiet.join().expect("no panic");
    }
}

#[test]
fn pressure_said_by_the_program_frees_what_is_lazy() {
    in_both_modes(|| {
        lazy_for_ever();
        let ledger = Ledger::new(3);
        let end = queue_everywhere(ledger);
        assert_eq!((ledger.count(), statistics().queued), (0, 6));
        memory_is_low();
        until("all of it goes", || statistics().queued == 0);
        ledger.assert_all_once();
        let now = statistics();
        assert_eq!((now.flushes.lazy, now.flushes.prompt), (0, 0));
        assert!(now.flushes.pressure > 0, "{now:?}");
        assert_eq!((now.pressure_calls, now.pressure_events), (1, 0));
        assert_eq!(now.pressure_passes, 1);
        end();
        until_at_rest();
    });
}

#[test]
fn pressure_is_no_reason_to_free_what_a_reader_has() {
    in_both_modes(|| {
        lazy_for_ever();
        let ledger = Ledger::new(2);
        let guard = read_lock();
        queue_somehow(ledger.thing(0), 8);
        memory_is_low(); // does not wait, though we are inside
        until("the worker has looked", || statistics().worker_passes > 0);
        assert_eq!(ledger.count(), 0);
        drop(guard);
        until("it goes", || ledger.count() == 1);
        // Also from a callback, on the worker itself.
        let said = flag();
        queue_somehow(ledger.thing(1), 8);
        quiescent::defer_hurry(|| {
            memory_is_low();
            said.store(true, Ordering::Release);
        });
        until("it returns", || said.load(Ordering::Acquire));
        until("all of it goes", || ledger.count() == 2);
        ledger.assert_all_once();
    });
}

#[test]
fn a_storm_of_pressure_is_no_storm_of_grace_periods() {
    in_both_modes(|| {
        lazy_for_ever();
        let ledger = Ledger::new(1);
        let before = statistics();
        let start = Instant::now();
        let storm = || {
            let cell = RcuCell::new(0u64);
            let mut said = 0;
            while start.elapsed() < Duration::from_millis(1200) {
                drop(cell.store(said));
                memory_is_low();
                said += 1;
            }
            said
        };
        let said: u64 = thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(storm));
            threads
                .map(|thread| thread.join().expect("no panic"))
                .iter()
                .sum()
        });
        // And what is queued after it goes as well, said or not said again.
        queue_somehow(ledger.thing(0), 8);
        memory_is_low();
        until("all of it goes", || statistics().queued == 0);
        let allowed = 2 + start.elapsed().as_millis() as u64 / 100;
        let now = statistics();
        let passes = now.pressure_passes - before.pressure_passes;
        assert_eq!(now.pressure_calls, said + 1);
        assert!(
            (2..=allowed).contains(&passes),
            "{passes} of {allowed}, {said} said"
        );
        // Batches that became full have grace periods of their own; a flush by pressure has one at most.
        let others = now.flushes.batch + now.flushes.hurry;
        let periods = now.grace_periods - before.grace_periods;
        assert!(
            periods <= 2 * (passes + others) + 2,
            "{periods}, {passes} passes, {others} others"
        );
        ledger.assert_all_once();
    });
}

#[test]
fn pressure_with_nothing_held_wakes_no_thread() {
    in_both_modes(|| {
        memory_is_low();
        assert_eq!(statistics().helper_threads, 0);
        assert_eq!((library_threads().len(), listened_to()), (0, 0));
        defer(|| ());
        barrier();
        until_at_rest();
        let before = statistics();
        (0..1000).for_each(|_| memory_is_low());
        thread::sleep(Duration::from_millis(150)); // longer than the rate
        let now = statistics();
        assert_eq!(now.worker_passes, before.worker_passes);
        assert_eq!(now.worker_wakeups, before.worker_wakeups);
        assert_eq!(now.pressure_passes, before.pressure_passes);
    });
}

#[test]
fn pressure_is_listened_to_only_while_something_is_held() {
    needs!(pressure);
    where_the_kernel_is_heard(|| {
        lazy_for_ever();
        let ledger = Ledger::new(6);
        defer(|| ());
        barrier();
        until_at_rest();
        let sources = statistics().pressure_sources;
        assert_eq!((armed(sources), listened_to()), (0, ALWAYS), "{sources:?}");
        for index in 0..3 {
            queue_somehow(ledger.thing(2 * index), 8);
            let sources = statistics().pressure_sources;
            assert_eq!(listened_to(), ALWAYS + armed(sources), "{sources:?}");
            let all = [sources.system, sources.group, sources.limits];
            assert!(!all.contains(&PressureSource::Idle), "{sources:?}");
            match index {
                0 => barrier(),
                1 => memory_is_low(),
                _ => assert_eq!(drain(crate::common::PATIENCE).left, 0),
            }
            until_at_rest();
            let sources = statistics().pressure_sources;
            assert_eq!((armed(sources), listened_to()), (0, ALWAYS), "{sources:?}");
        }
        // What goes at once is not worth the system calls.
        set_flush_times(FlushTimes {
            lazy: Duration::from_millis(300),
            prompt: Duration::from_millis(300),
        });
        queue_somehow(ledger.thing(3), 8);
        assert_eq!(listened_to(), ALWAYS);
        until_at_rest();
        let woken = statistics().worker_wakeups;
        assert!(woken.timer > 0 && woken.kick > 0, "{woken:?}");
    });
}

/// No more descriptors than there are, and so many.
fn leave_descriptors(more: libc::rlim_t) {
    let highest = || {
        let all = std::fs::read_dir("/proc/self/fd").expect("/proc");
        let numbers = all
            .flatten()
            .filter_map(|fd| fd.file_name().to_str()?.parse::<u64>().ok());
        numbers.max().unwrap_or(0)
    };
    let highest = highest();
    // No holes below it.
    while std::os::fd::IntoRawFd::into_raw_fd(std::fs::File::open("/dev/null").expect("a file"))
        as u64
        <= highest
    {}
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable, then readable.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = highest as libc::rlim_t + 2 + more;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}

#[test]
fn pressure_that_cannot_be_listened_to_is_no_error() {
    needs!(pressure);
    where_the_kernel_is_heard(|| {
        lazy_for_ever();
        let ledger = Ledger::new(3);
        drop(RcuCell::new(1u64).store(2).wait()); // registered
        leave_descriptors(3); // for the worker, and none for files
        let end = queue_everywhere(ledger);
        until("the worker has tried", || {
            statistics().pressure_sources.limits != PressureSource::Closed
        });
        let sources = statistics().pressure_sources;
        let all = [sources.system, sources.group, sources.limits];
        assert_eq!(all, [PressureSource::Unavailable; 3]);
        assert_eq!(statistics().worker_errors, 0);
        assert_eq!(ledger.count(), 0);
        memory_is_low();
        until("all of it goes", || ledger.count() == 3);
        end();
    });
}

#[test]
fn pressure_is_not_listened_to_where_that_is_switched_off() {
    needs!(pressure);
    Isolated::new().hears_the_kernel().run(|| {
        Options::new()
            .memory_pressure(false)
            .apply()
            .expect("nothing is against it");
        lazy_for_ever();
        let ledger = Ledger::new(3);
        let end = queue_everywhere(ledger);
        until("there is a worker", || listened_to() == ALWAYS);
        memory_is_low();
        until("all of it goes", || ledger.count() == 3);
        assert_eq!(statistics().pressure_sources, PressureSources::default());
        assert_eq!(listened_to(), ALWAYS);
        end();
    });
}

#[test]
fn pressure_in_the_child_of_a_fork_is_its_own() {
    needs!(pressure);
    where_the_kernel_is_heard(|| {
        lazy_for_ever();
        let ledger = Ledger::new(3);
        queue_somehow(ledger.thing(0), 8);
        until("the worker is there", || {
            statistics().pressure_sources.limits != PressureSource::Closed
        });
        until("and asleep", || {
            library_threads().into_iter().all(crate::common::sleeps)
        });
        let before = (statistics().pressure_sources, listened_to());
        in_child(|| {
            assert_eq!(statistics().pressure_sources, PressureSources::default());
            assert_eq!(listened_to(), 0, "the parent's descriptors are closed here");
            let links = std::fs::read_dir("/proc/self/fd").expect("/proc");
            let left = links
                .flatten()
                .filter_map(|fd| std::fs::read_link(fd.path()).ok());
            let pressure = |link: &std::path::PathBuf| link.to_string_lossy().contains("memory");
            assert_eq!(left.filter(pressure).count(), 0);
            memory_is_low(); // what is inherited and plain; the thing is the parent's
            queue_somehow(ledger.thing(1), 8);
            memory_is_low();
            until("the child's goes", || {
                ledger.count() == 1 && statistics().queued == 0
            });
            let now = statistics();
            assert!(
                now.flushes.pressure > 0 && now.pressure_calls == 2,
                "{now:?}"
            );
            until_at_rest();
            assert_eq!(listened_to(), ALWAYS);
        });
        assert_eq!(before, (statistics().pressure_sources, listened_to()));
        assert_eq!(ledger.count(), 0);
        memory_is_low();
        until("the parent's goes", || ledger.count() == 1);
    });
}

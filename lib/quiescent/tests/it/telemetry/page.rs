//! The page as a file, and as other programs find it: its descriptor, its seals, its names, its counters.

use std::fs;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::PathBuf;

use super::{retire, row, snapshot};
use crate::common::children::in_child;
use crate::common::{Isolated, Reader, isolated, sleepers, until};
use quiescent::telemetry;
use quiescent::{Domain, statistics, synchronize};
use quiescent_live::telemetry::Source;

/// Descriptors of this process that lead to a page.
fn descriptors() -> Vec<i32> {
    let open = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let is_page = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("quiescent-telemetry"))
    };
    let pages = open.map(|it| it.path()).filter(is_page);
    let number = |path: PathBuf| path.file_name()?.to_str()?.parse().ok();
    pages.filter_map(number).collect()
}

/// How often a page is mapped.
fn mappings() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").expect("/proc");
    maps.matches("quiescent-telemetry").count()
}

fn the_descriptor() -> i32 {
    let [one] = *descriptors() else {
        panic!("{:?}", descriptors());
    };
    one
}

#[test]
fn there_is_one_page_however_often_it_is_started() {
    isolated(|| {
        assert_eq!((descriptors().len(), mappings()), (0, 0));
        telemetry::start().expect("a page");
        let first = the_descriptor();
        retire([1u64; 8]);
        quiescent::barrier();
        telemetry::start().expect("the same page");
        assert_eq!((the_descriptor(), mappings()), (first, 1));
        assert_eq!(row(&snapshot(), "block of 64 bytes").executed, 1);
    });
}

#[test]
fn it_is_sealed_and_closed_on_exec_and_not_among_the_standard_descriptors() {
    isolated(|| {
        // SAFETY: this test reads no input; the lowest number is free then.
        unsafe { libc::close(0) };
        telemetry::start().expect("a page");
        let page = the_descriptor();
        assert!(page > 2, "{page}");
        // SAFETY: integers.
        let (seals, flags) = unsafe {
            (
                libc::fcntl(page, libc::F_GET_SEALS),
                libc::fcntl(page, libc::F_GETFD),
            )
        };
        let sealed = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_FUTURE_WRITE;
        assert_eq!(seals & sealed, sealed);
        assert_eq!(flags, libc::FD_CLOEXEC);
        // SAFETY: as above.
        let standard_input = unsafe { libc::fcntl(0, libc::F_GETFD) };
        assert_eq!(standard_input, -1, "the number is free again");
    });
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_signal() {
    isolated(|| {
        let limit = |bytes| {
            let limit = libc::rlimit {
                rlim_cur: bytes,
                rlim_max: libc::RLIM_INFINITY,
            };
            // SAFETY: `limit` is readable.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        };
        limit(4096);
        let why = telemetry::start().expect_err("it is larger");
        assert_eq!(why.raw_os_error(), Some(libc::EFBIG));
        assert_eq!((crate::common::snapshot(), descriptors().len()), (None, 0));
        // Up to its very size.
        limit(libc::RLIM_INFINITY);
        telemetry::start().expect("a page");
        // SAFETY: plain data, filled in by the call.
        let size = unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            assert_eq!(libc::fstat(the_descriptor(), &mut status), 0);
            status.st_size as libc::rlim_t
        };
        in_child(|| {
            limit(size);
            in_child(|| assert!(crate::common::snapshot().is_some()));
            limit(size - 1);
            in_child(|| assert!(crate::common::snapshot().is_none()));
        });
    });
}

#[test]
fn no_descriptor_is_left_without_one() {
    isolated(|| {
        let open = fs::read_dir("/proc/self/fd").expect("/proc").count();
        let limit = |most: usize| {
            let limit = libc::rlimit {
                rlim_cur: most as libc::rlim_t,
                rlim_max: most as libc::rlim_t,
            };
            // SAFETY: `limit` is readable.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
        };
        // All numbers below are in use.
        let kept: Vec<_> = (0..3)
            .map(|_| fs::File::open("/dev/null").expect("open").into_raw_fd())
            .collect();
        limit(open.max(*kept.iter().max().expect("three") as usize + 1));
        let why = telemetry::start().expect_err("no descriptor");
        assert_eq!(why.raw_os_error(), Some(libc::EMFILE));
        // SAFETY: opened above.
        assert!(kept.iter().all(|fd| unsafe { libc::close(*fd) } == 0));
        assert_eq!((crate::common::snapshot(), descriptors().len()), (None, 0));
        telemetry::start().expect("a page");
    });
}

/// The child has a page of its own only: neither a descriptor nor a mapping of the parent's.
#[test]
fn a_child_lets_go_of_its_parents_page() {
    isolated(|| {
        in_child(|| assert!(crate::common::snapshot().is_none() && descriptors().is_empty()));
        telemetry::start().expect("a page");
        in_child(|| {
            assert_eq!((descriptors().len(), mappings()), (1, 1));
            retire([1u64; 8]);
            quiescent::barrier();
            assert_eq!(snapshot().counter("barriers"), 1);
            in_child(|| {
                let now = snapshot();
                assert_eq!(
                    (now.forks, now.pid, now.counter("barriers")),
                    (2, std::process::id(), 0)
                );
                assert!(now.functions.is_empty());
                assert_eq!((descriptors().len(), mappings()), (1, 1));
            });
        });
        let own = Source::of(std::process::id()).expect("this process counts");
        assert_eq!(own.read().expect("a page").counter("barriers"), 0);
    });
}

/// A descriptor with the page's number that is not the page is the program's.
#[test]
fn a_file_in_place_of_the_descriptor_is_left_alone() {
    isolated(|| {
        telemetry::start().expect("a page");
        let page = the_descriptor();
        let size = fs::metadata(format!("/proc/self/fd/{page}"))
            .expect("it is open")
            .len() as i64;
        let file = fs::File::open("/proc/self/exe").expect("this program");
        // SAFETY: both are descriptors; the page's is closed by this, as by a program that reuses numbers.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), page) }, page);
        assert_eq!(crate::common::snapshot(), None, "no page is found there");
        let of = |fd: i32| fs::read_link(format!("/proc/self/fd/{fd}")).expect("open");
        let program = of(page);
        in_child(|| {
            assert_eq!(of(page), program, "it is open");
            assert_eq!(snapshot().forks, 1);
            assert_ne!(the_descriptor(), page);
        });
        // Nor is another file of the same size, and nor is one that is sealed.
        for sealed in [false, true] {
            // SAFETY: a string that ends with 0, and integers.
            unsafe {
                let other = libc::memfd_create(c"other".as_ptr(), libc::MFD_ALLOW_SEALING);
                assert_eq!(libc::ftruncate(other, size as libc::off_t), 0);
                if sealed {
                    assert_eq!(
                        libc::fcntl(other, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK),
                        0
                    );
                }
                assert_eq!(libc::dup2(other, page), page);
            }
            assert_eq!(crate::common::snapshot(), None);
            in_child(|| assert!(of(page).to_string_lossy().contains("other")));
        }
    });
}

#[test]
fn more_domains_than_there_is_room_for_share_a_row() {
    isolated(|| {
        telemetry::start().expect("a page");
        let named = |n: usize| {
            let domain = Domain::new();
            domain.set_name(Box::leak(format!("domain {n}").into_boxed_str()));
            domain.defer_lazy(|| ());
            domain.barrier();
            domain
        };
        // Two of the 256 names are the library's.
        let domains: Vec<_> = (0..257).map(named).collect();
        let now = snapshot();
        let queued = |name: &str| {
            let rows = now.functions.iter().filter(|it| it.domain == name);
            rows.map(|it| it.queued).sum::<u64>()
        };
        assert_eq!((queued("domain 0"), queued("domain 253")), (1, 1));
        assert_eq!((queued("domain 254"), queued("(unnamed)")), (0, 3));
        // Names go on to the page of a child.
        domains[7].set_name("");
        in_child(|| {
            for n in [7, 8] {
                domains[n].defer_lazy(|| ());
                domains[n].barrier();
            }
            let mut names: Vec<_> = snapshot()
                .functions
                .iter()
                .map(|it| it.domain.clone())
                .collect();
            names.sort();
            assert_eq!(names, ["(unnamed)", "domain 8"]);
        });
    });
}

#[test]
fn the_environment_starts_it() {
    for (value, starts) in [
        ("1", true),
        ("on", true),
        ("0", false),
        ("off", false),
        ("", false),
    ] {
        let process = Isolated::new().tag(value).env("QUIESCENT_TELEMETRY", value);
        process.run(|| assert_eq!(crate::common::snapshot().is_some(), starts, "{value:?}"));
    }
}

/// Each counter of the page has the value of the statistics that it is named after.
#[test]
fn counters_are_those_of_the_statistics() {
    isolated(|| {
        telemetry::start().expect("a page");
        quiescent::tuning::set_budget(1 << 20, 5);
        let idle = Reader::idle("idle");
        for n in 0..3u64 {
            quiescent::defer_hurry(|| ());
            synchronize();
            quiescent::barrier();
            retire([n; 4]);
            let _ = quiescent::drain(crate::common::PATIENCE);
            quiescent::tuning::memory_is_low();
        }
        idle.end();
        let at_rest =
            || statistics().queued == 0 && !statistics().busy && !statistics().timer_armed;
        let mut compared = None;
        until("nothing changes while both are read", || {
            let (before, page, after) = (statistics(), snapshot(), statistics());
            let same = format!("{before:?}") == format!("{after:?}");
            compared = Some((page, after));
            at_rest() && same
        });
        let (page, now) = compared.expect("read");
        let (wakeups, flushes) = (now.worker_wakeups, now.flushes);
        for (name, value) in [
            ("grace_periods", now.grace_periods),
            ("grace_periods_sole", now.grace_periods_sole),
            ("scans", now.scans),
            ("leaves_scanned", now.leaves_scanned),
            ("stalls", now.stalls),
            ("fences_gp", now.fences_gp),
            ("fences_flag", now.fences_flag),
            ("fences_take", now.fences_take),
            ("fences_issued", now.fences_issued),
            ("fences_shared", now.fences_shared),
            ("wakeups", now.wakeups),
            ("reader_wakeups", now.reader_wakeups),
            ("sleeps", now.sleeps),
            ("hand_overs", now.hand_overs),
            ("takeovers", now.takeovers),
            ("callbacks", now.callbacks),
            ("barriers", now.barriers),
            ("worker_passes", now.worker_passes),
            ("worker_wakeups.timer", wakeups.timer),
            ("worker_wakeups.kick", wakeups.kick),
            ("worker_wakeups.pressure", wakeups.pressure),
            ("worker_wakeups.backlog", wakeups.backlog),
            ("flushes.lazy", flushes.lazy),
            ("flushes.prompt", flushes.prompt),
            ("flushes.hurry", flushes.hurry),
            ("flushes.barrier", flushes.barrier),
            ("flushes.drain", flushes.drain),
            ("flushes.pressure", flushes.pressure),
            ("pressure_calls", now.pressure_calls),
            ("pressure_passes", now.pressure_passes),
            ("worker_errors", now.worker_errors),
            ("refused", now.refused),
            ("unregistered_sections", now.unregistered_sections),
            ("registered", now.registered.into()),
            ("helper_threads", now.helper_threads),
            ("budget_bytes", now.budget_bytes),
            ("budget_callbacks", now.budget_callbacks),
        ] {
            assert_eq!(page.counter(name), value, "{name}");
        }
        assert_eq!(page.counters.len(), 47);
        assert_eq!(page.counter("budget_callbacks"), 5);
        assert!(page.counter("callbacks") == 3 && page.counter("pressure_calls") == 3);
    });
}

#[test]
fn a_holdout_has_its_thread_and_its_nesting() {
    isolated(|| {
        telemetry::start().expect("a page");
        let readers: Vec<_> = (0..3).map(|_| Reader::inside("in the way")).collect();
        std::thread::scope(|scope| {
            let waits = sleepers(scope, 1, synchronize);
            let mut all: Vec<_> = readers.iter().map(|it| (it.thread_id, 1)).collect();
            all.sort();
            until("all are named", || {
                let mut named = snapshot().holdouts;
                named.sort();
                named == all
            });
            let mut readers = readers.into_iter();
            readers.next().expect("three").end();
            until("one less", || snapshot().holdouts.len() == 2);
            readers.for_each(Reader::end);
            waits
                .into_iter()
                .for_each(|it| it.join().expect("no panic"));
        });
        assert!(snapshot().holdouts.is_empty());
    });
}

#[test]
fn its_times_are_since_the_start_and_since_the_last_update() {
    isolated(|| {
        let before = std::time::Instant::now();
        telemetry::start().expect("a page");
        let started = std::time::Instant::now();
        std::thread::sleep(crate::common::SHORT);
        let least = started.elapsed();
        let source = Source::of(std::process::id()).expect("it counts");
        let first = source.read().expect("a page");
        assert!(first.counted_for >= least && first.counted_for <= before.elapsed());
        assert!(first.counters_age >= least, "no update since");
        let updated = std::time::Instant::now();
        let now = snapshot();
        assert!(now.counters_age <= updated.elapsed() && now.counted_for > first.counted_for);
    });
}

#[test]
fn a_process_that_cannot_be_looked_at_is_named() {
    isolated(|| {
        let why = Source::of(u32::MAX / 2).expect_err("there is none");
        assert_eq!(why.kind(), std::io::ErrorKind::NotFound);
        assert!(why.to_string().contains("no process 2147483647"), "{why}");
        // The first process belongs to root; without its rights this one may not look at it.
        // SAFETY: integers.
        unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        let why = Source::of(1).expect_err("it belongs to another user");
        if why.kind() == std::io::ErrorKind::PermissionDenied {
            assert!(why.to_string().contains("process 1 is not yours"), "{why}");
        }
    });
}

/// What a child counts begins with the fork, also of what it inherits.
#[test]
fn what_was_queued_by_the_parent_is_not_executed_in_the_child() {
    isolated(|| {
        telemetry::start().expect("a page");
        (0..3000u64).for_each(|n| retire([n; 8]));
        quiescent::barrier();
        (0..100u64).for_each(|n| retire([n; 9]));
        in_child(|| {
            (0..10u64).for_each(|n| retire([n; 8]));
            quiescent::barrier();
            let now = snapshot();
            for it in &now.functions {
                assert_eq!(it.queued, it.executed, "{it:?}");
            }
            assert_eq!(row(&now, "block of 64 bytes").queued, 10);
            assert!(
                super::rows(&now, "block of 72 bytes").is_empty(),
                "{now:#?}"
            );
        });
    });
}

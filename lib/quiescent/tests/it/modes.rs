//! Settings at start-up: forced fence modes, limits, and unavailable modes.

use crate::common::oracle::Plan;
use crate::common::{Isolated, Reader, isolated, on_thread, until};
use quiescent::{FenceMode, InitError, Options, read, statistics, synchronize};

const FENCED: Options = Options::new().fence(FenceMode::Fenced);
const MEMBARRIER: Options = Options::new().fence(FenceMode::Membarrier);

fn mode() -> FenceMode {
    statistics().fence_mode
}

#[test]
fn the_environment_asks_for_fenced_readers() {
    needs!(fence);
    Isolated::new()
        .fenced()
        .run(|| assert_eq!(mode(), FenceMode::Fenced));
    for word in ["FENCED", "Fenced"] {
        let child = Isolated::new().tag(word).env("QUIESCENT_FENCE", word);
        child.run(|| assert_eq!(mode(), FenceMode::Fenced));
    }
    // Only by that word.
    for word in ["", "0", "membarrier", "fence", "fenced "] {
        let child = Isolated::new().tag(word).env("QUIESCENT_FENCE", word);
        child.run(|| assert_eq!(mode(), FenceMode::Membarrier));
    }
}

#[test]
fn the_program_decides_before_it_reads() {
    needs!(fence);
    isolated(|| {
        assert_eq!(
            (Options::new().apply(), mode()),
            (Ok(()), FenceMode::Membarrier)
        );
        for _ in 0..10 {
            assert_eq!((FENCED.apply(), mode()), (Ok(()), FenceMode::Fenced));
            assert_eq!(
                (Options::new().apply(), mode()),
                (Ok(()), FenceMode::Fenced)
            );
            assert_eq!(
                (MEMBARRIER.apply(), mode()),
                (Ok(()), FenceMode::Membarrier)
            );
        }
        assert_eq!(FENCED.apply(), Ok(()));
        assert!(Plan::new(300).run() > 0);
        assert_eq!(mode(), FenceMode::Fenced);
    });
}

#[test]
fn the_program_overrules_the_environment() {
    needs!(fence);
    Isolated::new().fenced().run(|| {
        assert_eq!(
            (MEMBARRIER.apply(), mode()),
            (Ok(()), FenceMode::Membarrier)
        );
        assert!(Plan::new(300).run() > 0);
    });
}

#[test]
fn once_a_thread_reads_it_is_too_late() {
    needs!(fence);
    let too_late = |now: Options, other: Options| {
        let before = mode();
        read(|_| ());
        let error = other.apply().expect_err("a thread has read");
        assert_eq!(error, InitError::AlreadyReading);
        assert!(
            error
                .to_string()
                .contains("call `Options::apply` first in `main`")
        );
        assert_eq!(mode(), before);
        // What is so already may be demanded.
        assert_eq!(now.apply(), Ok(()));
        // It is the same from any thread, and inside a section.
        assert_eq!(
            on_thread("other", move || other.apply()),
            Err(InitError::AlreadyReading)
        );
        assert_eq!(read(|_| other.apply()), Err(InitError::AlreadyReading));
        synchronize();
        assert_eq!(mode(), before);
    };
    isolated(|| too_late(MEMBARRIER, FENCED));
    Isolated::new()
        .fenced()
        .run(|| too_late(FENCED, MEMBARRIER));
}

#[test]
fn the_mode_does_not_change_under_a_racing_reader() {
    isolated(|| {
        // Threads come and go while the mode is forced to and fro: whatever comes out, readers that are
        // registered rely on the mode that is in force.
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let changer = scope.spawn(|| {
                let mut changed = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    changed +=
                        u32::from(FENCED.apply().is_ok()) + u32::from(MEMBARRIER.apply().is_ok());
                    std::thread::yield_now();
                }
                changed
            });
            let plan = Plan {
                readers: 0,
                churners: 2,
                updaters: 1,
                updates: 1500,
            };
            assert!(plan.run() > 0);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            let changed = changer.join().expect("no panic");
            assert!(changed > 0, "the mode never changed");
        });
        until("all threads are gone", || statistics().registered == 0);
        synchronize();
    });
}

#[test]
fn impossible_limits_are_named() {
    isolated(|| {
        let most = 65_534;
        for asked in [0, most + 1, 1_000_000, u32::MAX] {
            let error = Options::new()
                .max_threads(asked)
                .apply()
                .expect_err("impossible");
            assert_eq!(error, InitError::BadMaxThreads { asked, most });
            assert_eq!(
                error.to_string(),
                format!("max_threads is {asked}; it can be 1 to {most}")
            );
        }
        for possible in [1, 62, 63, most] {
            assert_eq!(Options::new().max_threads(possible).apply(), Ok(()));
        }
        let readers: Vec<_> = (0..130).map(|_| Reader::idle("reader")).collect();
        assert_eq!(
            (statistics().registered, statistics().unregistered_sections),
            (130, 0)
        );
        readers.into_iter().for_each(Reader::end);
    });
}

#[test]
fn a_limit_is_rounded_up_to_whole_leaves() {
    isolated(|| {
        assert_eq!(Options::new().max_threads(63).apply(), Ok(()));
        let readers: Vec<_> = (0..126).map(|_| Reader::idle("reader")).collect();
        assert_eq!(
            (statistics().registered, statistics().unregistered_sections),
            (126, 0)
        );
        on_thread("one too many", || read(|_| ()));
        assert_eq!(
            (statistics().registered, statistics().unregistered_sections),
            (126, 1)
        );
        synchronize();
        readers.into_iter().for_each(Reader::end);
        assert_eq!(statistics().registered, 0);
    });
}

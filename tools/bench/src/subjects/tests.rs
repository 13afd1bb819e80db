//! Tests over all subjects.

use super::*;

#[test]
fn names_are_unique_and_found() {
    let subjects = all();
    for (index, subject) in subjects.iter().enumerate() {
        assert_eq!(named(subject.name).map(|s| s.name), Some(subject.name));
        assert!(
            subjects[index + 1..]
                .iter()
                .all(|other| other.name != subject.name),
            "{} twice",
            subject.name
        );
    }
    assert!(named("no such library").is_none());
}

#[test]
fn every_loop_ends() {
    for subject in all() {
        (subject.attach)();
        for case in ReadCase::ALL {
            if let Some(run) = subject.loops.of(case) {
                run(8 * READS_PER_REPIN);
            }
            assert_eq!(ReadCase::named(case.name()), Some(case));
        }
        (subject.detach)();
    }
}

#[test]
fn a_grace_period_ends_with_a_registered_caller() {
    for subject in all() {
        let Some(waiting) = subject.waiting else {
            continue;
        };
        (subject.attach)();
        (waiting.sync)();
        (subject.detach)();
    }
}

#[test]
fn a_looping_reader_beats_and_stops() {
    use std::sync::atomic::Ordering::Relaxed;
    for subject in all() {
        let Some(waiting) = subject.waiting else {
            continue;
        };
        let control = ReaderControl::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (subject.attach)();
                (waiting.reader)(&control);
                (subject.detach)();
            });
            while control.heartbeat.0.load(Relaxed) == 0 {
                std::thread::yield_now();
            }
            control.stop.0.store(1, Relaxed);
        });
        assert_ne!(control.heartbeat.0.load(Relaxed), 0, "{}", subject.name);
    }
}

#[test]
fn control_is_laid_out_as_in_c() {
    assert_eq!(std::mem::offset_of!(ReaderControl, stop), 0);
    assert_eq!(std::mem::offset_of!(ReaderControl, heartbeat), 128);
    assert_eq!(std::mem::size_of::<ReaderControl>(), 256);
}

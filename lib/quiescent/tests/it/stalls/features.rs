//! The output of the features.

#[cfg(feature = "locations")]
mod locations {
    use std::panic::Location;

    use quiescent::{Guard, read, read_lock, start_grace_period};

    use super::super::{TIME, listen, reported};
    use crate::common::in_both_modes;
    use crate::common::until;

    /// Polls until another report names this thread's section. Returns the place where that was opened.
    fn opened_at() -> &'static Location<'static> {
        let before = reported().len();
        let cookie = start_grace_period();
        until("a poll tells", || {
            !cookie.is_done() && reported().len() > before
        });
        let report = reported().swap_remove(before).0;
        report.readers[0].location.expect("it is noted")
    }

    #[track_caller]
    fn line() -> u32 {
        Location::caller().line()
    }

    fn guards(count: usize) -> Vec<Guard> {
        (0..count).map(|_| read_lock()).collect()
    }

    /// Every grace period ends between two of these: the thread is outside.
    fn outside() {
        quiescent::synchronize();
    }

    #[test]
    fn the_line_of_the_outermost_lock_is_reported() {
        in_both_modes(|| {
            listen(TIME);
            let (guard, here) = (read_lock(), line());
            let _nested = guards(3);
            let at = opened_at();
            assert_eq!((at.file(), at.line()), (file!(), here));
            drop((guard, _nested));
            outside();
            let (at, here) = (read(|_| opened_at()), line());
            assert_eq!((at.file(), at.line()), (file!(), here));
            outside();
            let mut guard = read_lock();
            let _ = opened_at();
            // A grace period waits: the section ends here and another begins.
            let here = line() + 1;
            guard.repin();
            let at = opened_at();
            assert_eq!((at.file(), at.line()), (file!(), here));
            assert!(reported().last().is_some_and(|(report, _)| {
                let text = report.to_string();
                text.contains(&format!("opened at {}:{here}:", file!()))
            }));
        });
    }
}

#[cfg(feature = "log")]
mod log {
    use std::sync::Mutex;

    use ::log::{Level, LevelFilter, Log, Metadata, Record};
    use quiescent::report::set_stall_after;
    use quiescent::synchronize_timeout;

    use super::super::TIME;
    use crate::common::{Reader, isolated};

    static LINES: Mutex<Vec<(Level, String, String)>> = Mutex::new(Vec::new());

    struct Logger;

    impl Log for Logger {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &Record<'_>) {
            let line = (
                record.level(),
                record.target().to_owned(),
                record.args().to_string(),
            );
            LINES.lock().expect("no panic").push(line);
        }

        fn flush(&self) {}
    }

    #[test]
    fn reports_are_warnings_and_need_no_reporter() {
        isolated(|| {
            crate::common::healed::expected();
            ::log::set_logger(&Logger).expect("the first");
            ::log::set_max_level(LevelFilter::Warn);
            set_stall_after(TIME);
            let slow = Reader::inside("slow");
            let _ = synchronize_timeout(3 * TIME);
            slow.end();
            std::panic::set_hook(Box::new(|_| ()));
            quiescent::defer_hurry(|| panic!("a closure"));
            quiescent::barrier();
            let lines = LINES.lock().expect("no panic");
            let all =
                |line: &&(Level, String, String)| line.0 == Level::Warn && line.1 == "quiescent";
            assert_eq!(lines.iter().filter(all).count(), lines.len());
            assert!(lines[0].2.contains("\"slow\""), "{lines:?}");
            assert!(lines.last().is_some_and(|line| line.2.contains("panicked")));
        });
    }
}

#[cfg(feature = "tracing")]
mod tracing {
    use std::fmt::Debug;
    use std::sync::Mutex;

    use ::tracing::field::{Field, Visit};
    use ::tracing::span::{Attributes, Id, Record};
    use ::tracing::{Event, Level, Metadata, Subscriber};
    use quiescent::report::set_stall_after;
    use quiescent::synchronize_timeout;

    use super::super::TIME;
    use crate::common::{Reader, isolated};

    static FIELDS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

    struct Collector;

    struct Fields<'a>(&'a mut Vec<(String, String)>);

    impl Visit for Fields<'_> {
        fn record_str(&mut self, field: &Field, value: &str) {
            self.0.push((field.name().to_owned(), value.to_owned()));
        }

        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.push((field.name().to_owned(), format!("{value:?}")));
        }
    }

    impl Subscriber for Collector {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "quiescent" && *metadata.level() == Level::WARN
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut Fields(&mut FIELDS.lock().expect("no panic")));
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn reports_are_events_with_words_and_json() {
        isolated(|| {
            crate::common::healed::expected();
            ::tracing::subscriber::set_global_default(Collector).expect("the first");
            set_stall_after(TIME);
            let slow = Reader::inside("slow");
            let _ = synchronize_timeout(3 * TIME);
            slow.end();
            let fields = FIELDS.lock().expect("no panic");
            let value = |name: &str| {
                let field = fields.iter().find(|field| field.0 == name);
                &field.unwrap_or_else(|| panic!("{name}: {fields:?}")).1
            };
            assert!(value("message").contains("\"slow\""));
            let json: serde_json::Value = serde_json::from_str(value("json")).expect("JSON");
            assert_eq!(json["schema"], "quiescent-stall/1");
            assert_eq!(json["readers"][0]["name"], "slow");
        });
    }
}

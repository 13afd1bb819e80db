//! The options of a run.

use std::os::fd::RawFd;
use std::time::Duration;

use quiescent::tuning::{FLUSH, FlushTimes};
use strum::VariantNames;

use super::counter::Counter;
use super::kind::Kind;
use super::role::Cast;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name in reports.
    pub name: String,
    /// The duration. The run continues if an actor has not acted by then (see `long_enough`).
    pub duration: Duration,
    /// The seed of every choice (not of the interleaving).
    pub seed: u64,
    /// The number of threads of each role.
    pub cast: Cast,
    /// Delays of the threads.
    pub delays: Delays,
    /// The kinds from which writers choose.
    pub kinds: Vec<Kind>,
    /// Settings of the library at the start.
    pub library: quiescent::Options,
    /// The flush times of callbacks; `None`: the library's defaults.
    pub flush: Option<FlushTimes>,
    /// Counters that must have increased at the end of a run that was long enough.
    pub expects: Vec<Counter>,
    /// The interval of progress lines.
    pub interval: Duration,
    /// The patience: without progress for so long, a thread hangs; queued for so long, an object is late.
    pub patience: Duration,
    /// Freed blocks that are kept, poisoned, from the allocator, so that a late reader detects them. Zero
    /// under AddressSanitizer, which keeps blocks itself and must see the free.
    pub quarantine: usize,
    /// Do some callbacks panic? (The library contains that.)
    pub panics: bool,
    /// Does the program misuse the library?
    pub broken: Option<Broken>,
    /// A file in memory that keeps the last events after this process has ended.
    pub events: Option<RawFd>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: "everything".into(),
            duration: Duration::from_secs(10),
            seed: 1,
            cast: Cast::default(),
            delays: Delays::default(),
            kinds: Kind::ALL.to_vec(),
            library: quiescent::Options::new(),
            flush: None,
            expects: Vec::new(),
            interval: Duration::from_secs(5),
            patience: Duration::from_secs(30),
            quarantine: 4096,
            panics: true,
            broken: None,
            events: None,
        }
    }
}

impl Options {
    /// Such a run must have used every actor: two seconds, and a few flush times of lazy entries.
    pub fn long_enough(&self) -> Duration {
        let lazy = self.flush.map_or(FLUSH, |times| times.lazy);
        Duration::from_secs(2).max(lazy * 3)
    }
}

/// Delays of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delays {
    /// The longest sleep of a section, in microseconds.
    pub section_us: u64,
    /// One section in so many sleeps.
    pub section_every: usize,
    /// The longest rest of writers and fakes between their turns, in microseconds.
    pub writer_us: usize,
    /// The longest rest of the storm of signals, in microseconds.
    pub signal_us: u64,
    /// The longest common pause, in milliseconds, every few seconds. 0: none.
    pub pause_ms: u64,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            section_us: 20_000,
            section_every: 2000,
            writer_us: 1000,
            signal_us: 400,
            pause_ms: 1500,
        }
    }
}

/// Misuses, each of which an oracle must find.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Broken {
    /// `synchronize` is left out.
    NoGracePeriod,
    /// A block is retired first and unlinked later.
    RetireBeforeUnlink,
    /// The effect of a callback happens at once.
    CallNow,
    /// The effect of a callback happens twice.
    RunTwice,
    /// A callback is dropped.
    NeverRun,
    /// `barrier` is left out.
    SkipBarrier,
    /// A block is retired twice.
    DoubleFree,
    /// A block is not freed.
    Leak,
    /// A completed cookie is polled in place of the one that was taken.
    WrongCookie,
    /// A reader leaks its guard.
    StuckReader,
    /// An element is published before it is initialised.
    PublishFirst,
    /// A completed cookie is polled inside a section in place of the section's own.
    FalseCookie,
    /// Reports of stalls are ignored.
    DeafToStalls,
    /// Reports of stalls are noted with a time before the real one.
    EarlyStall,
    /// In the child of a fork a callback runs twice.
    ChildTwice,
    /// A flood waits for a callback that it did not queue.
    LostFlood,
    /// No actor queues anything lazily.
    NeverLazy,
    /// An entry is queued at the end of the run.
    LeftOver,
    /// Callbacks panic that were not planned to panic.
    SecretPanic,
    /// A section of one `Srcu` waits for that `Srcu`, as if it had been delayed by another one.
    WrongSrcu,
    /// A writer writes to an address without memory.
    Crash,
}

impl Broken {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The misuse of this name.
    ///
    /// # Errors
    /// The names that there are.
    pub fn named(name: &str) -> Result<Broken, String> {
        let known = || Broken::VARIANTS.join(", ");
        name.parse()
            .map_err(|_| format!("`{name}`: no such misuse; there are: {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        let broken = Broken::named("wrong-srcu").expect("it is one");
        assert_eq!((broken, broken.name()), (Broken::WrongSrcu, "wrong-srcu"));
        assert!(
            Broken::named("honest")
                .unwrap_err()
                .contains("no-grace-period")
        );
    }
}

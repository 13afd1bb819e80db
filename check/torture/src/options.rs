//! The options of a run.

use std::os::fd::RawFd;
use std::time::Duration;

use quiescent::tuning::FlushTimes;

use crate::counter::Counter;
use crate::kind::Kind;
use crate::role::Cast;

/// A run.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it is called in reports.
    pub name: String,
    /// How long the threads go on. Longer if an actor has not acted by then (see `long_enough`).
    pub duration: Duration,
    /// Decides every choice (not the interleaving).
    pub seed: u64,
    /// How many threads do what.
    pub cast: Cast,
    /// Where threads dawdle.
    pub delays: Delays,
    /// The ways to wait that writers choose from.
    pub kinds: Vec<Kind>,
    /// What the library is told at the start.
    pub library: quiescent::Options,
    /// How long callbacks wait for company; the library's defaults if open.
    pub flush: Option<FlushTimes>,
    /// Counters that may not be zero at the end of a run that was long enough.
    pub expects: Vec<Counter>,
    /// How often there is a line about what has been done.
    pub interval: Duration,
    /// Without progress for so long, a thread hangs; queued for so long, an object is late.
    pub patience: Duration,
    /// Freed blocks kept back from the allocator, poisoned, so that a late reader meets poison. Not
    /// under AddressSanitizer, which keeps its own and must see the free.
    pub quarantine: usize,
    /// Do some callbacks panic? (The library contains that.)
    pub panics: bool,
    /// Does the program misuse the library?
    pub broken: Option<Broken>,
    /// A file in memory that has the last events when this process is gone ([`kept`](crate::kept)).
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
    /// Such a run must have exercised every actor: two seconds, and a few flush times of what is lazy.
    pub fn long_enough(&self) -> Duration {
        let lazy = self
            .flush
            .map_or(quiescent::tuning::FLUSH, |times| times.lazy);
        Duration::from_secs(2).max(lazy * 3)
    }
}

/// Where threads dawdle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Some sections sleep for up to so many microseconds.
    pub section_us: u64,
    /// One section in so many does.
    pub section_every: usize,
    /// Writers and fakes rest between their turns, for up to so many microseconds.
    pub writer_us: usize,
    /// The storm of signals rests, for up to so many microseconds.
    pub signal_us: u64,
    /// All actors pause for up to this number of milliseconds, every few seconds. Not at all if 0.
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

/// Misuses, each of which an oracle must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// `synchronize` is left out.
    NoGracePeriod,
    /// A block is retired first and unlinked later.
    RetireBeforeUnlink,
    /// The effect of a callback is there at once.
    CallNow,
    /// The effect of a callback is there twice.
    RunTwice,
    /// A callback is forgotten.
    NeverRun,
    /// `barrier` is left out.
    SkipBarrier,
    /// A block is retired twice.
    DoubleFree,
    /// A block is not freed.
    Leak,
    /// A cookie is polled before it was taken, as it were: a completed one instead.
    WrongCookie,
    /// A reader forgets its guard.
    StuckReader,
    /// An element is published before it is fit to be found.
    PublishFirst,
    /// A cookie that is asked about inside its section is another one, which is done.
    FalseCookie,
    /// What is told of stalls is not listened to.
    DeafToStalls,
    /// Stalls are said to have been told earlier than they were.
    EarlyStall,
    /// In the child of a fork a callback runs twice.
    ChildTwice,
    /// A flood waits for a callback that it did not queue.
    LostFlood,
    /// No actor does anything lazily.
    NeverLazy,
    /// Something is queued when everything is over.
    LeftOver,
    /// Callbacks panic that were not planned to.
    SecretPanic,
    /// What may not hold up another `Srcu` is waited for there where it does.
    WrongSrcu,
    /// A writer writes where there is no memory.
    Crash,
}

impl Broken {
    /// All of them.
    pub const ALL: [Broken; 21] = [
        Broken::NoGracePeriod,
        Broken::RetireBeforeUnlink,
        Broken::CallNow,
        Broken::RunTwice,
        Broken::NeverRun,
        Broken::SkipBarrier,
        Broken::DoubleFree,
        Broken::Leak,
        Broken::WrongCookie,
        Broken::StuckReader,
        Broken::PublishFirst,
        Broken::FalseCookie,
        Broken::DeafToStalls,
        Broken::EarlyStall,
        Broken::ChildTwice,
        Broken::LostFlood,
        Broken::NeverLazy,
        Broken::LeftOver,
        Broken::SecretPanic,
        Broken::WrongSrcu,
        Broken::Crash,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Broken::NoGracePeriod => "no-grace-period",
            Broken::RetireBeforeUnlink => "retire-before-unlink",
            Broken::CallNow => "call-now",
            Broken::RunTwice => "run-twice",
            Broken::NeverRun => "never-run",
            Broken::SkipBarrier => "skip-barrier",
            Broken::DoubleFree => "double-free",
            Broken::Leak => "leak",
            Broken::WrongCookie => "wrong-cookie",
            Broken::StuckReader => "stuck-reader",
            Broken::PublishFirst => "publish-first",
            Broken::FalseCookie => "false-cookie",
            Broken::DeafToStalls => "deaf-to-stalls",
            Broken::EarlyStall => "early-stall",
            Broken::ChildTwice => "child-twice",
            Broken::LostFlood => "lost-flood",
            Broken::NeverLazy => "never-lazy",
            Broken::LeftOver => "left-over",
            Broken::SecretPanic => "secret-panic",
            Broken::WrongSrcu => "wrong-srcu",
            Broken::Crash => "crash",
        }
    }

    /// The misuse of this name.
    pub fn named(name: &str) -> Option<Broken> {
        Broken::ALL.into_iter().find(|broken| broken.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for broken in Broken::ALL {
            assert_eq!(Broken::named(broken.name()), Some(broken));
        }
        assert_eq!(Broken::named("honest"), None);
    }
}

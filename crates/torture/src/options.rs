//! What a run is asked to do.

use std::time::Duration;

/// A run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long the threads go on.
    pub duration: Duration,
    /// Decides every choice (not the interleaving).
    pub seed: u64,
    /// Threads that read.
    pub readers: usize,
    /// Threads that update.
    pub writers: usize,
    /// Without progress for so long, a thread hangs; queued for so long, an object is late.
    pub patience: Duration,
    /// Freed blocks kept back from the allocator, poisoned, so that a late reader meets poison. Not
    /// under AddressSanitizer, which keeps its own and must see the free.
    pub quarantine: usize,
    /// Threads that get a slot of their own, about; others share. The library's default if open.
    pub slots: Option<u32>,
    /// Do some callbacks panic? (The library contains that.)
    pub panics: bool,
    /// Does the program misuse the library?
    pub broken: Option<Broken>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            duration: Duration::from_secs(10),
            seed: 1,
            readers: 3,
            writers: 4,
            patience: Duration::from_secs(30),
            quarantine: 4096,
            slots: None,
            panics: true,
            broken: None,
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
}

impl Broken {
    /// All of them.
    pub const ALL: [Broken; 10] = [
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

//! The tunables.

/// The default time before a stall is reported.
pub const DEFAULT_NS: u64 = 21_000_000_000;

/// The participants in grace periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Readers {
    /// Threads: each is in sections of its own, or outside.
    Cpus,
    /// Two counts of sections of all threads: 0 and 1 ([`indexed`](crate::indexed)).
    Indexed,
}

/// How a grace period waits for its holdouts: first scan at once, then spin, flag the holdouts, and sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Processor relaxations a spin.
    pub spin: u16,
    /// Spins with a scan each before holdouts are flagged.
    pub spins_before_flag: u16,
    /// Spins with a scan each between flagging and the fence that precedes sleep.
    pub spins_after_flag: u16,
    /// Both counts are multiplied by this for an expedited waiter.
    pub expedited_factor: u16,
    /// A grace period with holdouts for this number of nanoseconds is reported as stalled
    /// ([`stall`](crate::stall)); 0: never.
    pub stall_ns: u64,
}

/// Every tunable of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The participants.
    pub readers: Readers,
    /// CPUs of a leaf, from 1 to 64.
    pub leaf: u32,
    /// The waits for holdouts.
    pub pace: Pace,
    /// Waiters take the role of a driver that has made no call for this time ([`driver`](crate::driver));
    /// `u64::MAX`: never.
    pub takeover_after_ns: u64,
    /// When callbacks are flushed.
    pub defer: Defer,
    /// The invokers of callbacks.
    pub pool: Pool,
    /// The limits of what a domain may hold.
    pub budget: Budget,
}

impl Config {
    /// For threads.
    pub const fn threads() -> Config {
        Config {
            readers: Readers::Cpus,
            leaf: 64,
            pace: Pace {
                spin: 8,
                spins_before_flag: 12,
                spins_after_flag: 60,
                expedited_factor: 8,
                stall_ns: DEFAULT_NS,
            },
            takeover_after_ns: 100_000_000,
            defer: Defer::threads(),
            pool: Pool::threads(),
            budget: Budget::threads(),
        }
    }

    /// For counted sections, which may sleep.
    pub const fn sleepable() -> Config {
        Config {
            readers: Readers::Indexed,
            ..Config::threads()
        }
    }
}

/// The policy's numbers. This project's own choice; `docs/architecture.md` says why these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Defer {
    /// This many callbacks of a lane without a requested grace period make a batch, while fences are rare.
    pub batch: u64,
    /// This many bytes of such callbacks make a batch of plain memory.
    pub batch_bytes: u64,
    /// This many make a batch of closures and destructors. Most of their bytes are an estimate
    /// ([`owner::UNWEIGHED`](crate::owner::UNWEIGHED)): a batch of those is limited by its number.
    /// An owner whose values are [large](crate::batch) makes batches of a smaller part.
    pub code_batch_bytes: u64,
    /// Where fences take much of the time, a batch grows to this many times all three
    /// ([`batch`](crate::batch)).
    pub growth: u32,
    /// A lazy callback waits at most this long for its stamp, in nanoseconds.
    pub lazy_ns: u64,
    /// Lazy deadlines are rounded up to a multiple of this, so that many processes' timers coincide.
    pub lazy_grid_ns: u64,
    /// A prompt callback waits at most this long for its stamp.
    pub prompt_ns: u64,
    /// … and a rare one only this part of it: [rounds](crate::Global::prompt_by) that follow each other are
    /// twice as long as the last.
    pub prompt_growth: u8,
    /// Low memory is acted upon at most once in this time ([`pressure`](crate::pressure)).
    pub pressure_ns: u64,
    /// The program runs its callbacks itself, when it drains: no thread is woken for done callbacks.
    pub drained: bool,
}

impl Defer {
    /// A batch of 2048, or of 192 KiB of plain memory, or of 4 MiB of code; four times that where fences are
    /// frequent. Lazy callbacks wait ten seconds, prompt ones 50 ms. A slow stream of prompt callbacks causes
    /// at most 20 wake-ups a second, one of lazy callbacks at most one in ten seconds.
    pub const fn threads() -> Defer {
        Defer {
            batch: 2048,
            batch_bytes: 192 << 10, // so many objects of 64 bytes, each with its share of allocator and queue
            code_batch_bytes: 4 << 20, // more than that many of 1 KiB
            growth: 4,
            lazy_ns: 10_000_000_000,
            lazy_grid_ns: 1_000_000_000,
            prompt_ns: 50_000_000,
            prompt_growth: 1,
            pressure_ns: 100_000_000,
            drained: false,
        }
    }
}

/// Numbers of the worker pool. This project's own choice, but for the limits, which are the kernel's
/// `qhimark` and `qlowmark`: there they lift and restore the limit of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pool {
    /// Workers that may invoke at a time: one, or two.
    pub workers: u32,
    /// With more untended than this the second worker is called.
    pub above: u32,
    /// With fewer it rests.
    pub below: u32,
}

impl Pool {
    /// Two; 10 000 and 100.
    pub const fn threads() -> Pool {
        Pool {
            workers: 2,
            above: 10_000,
            below: 100,
        }
    }
}

/// How much a domain may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Bytes; `u64::MAX` for any.
    pub bytes: u64,
    /// Callbacks; `u64::MAX` for any.
    pub count: u64,
    /// An owner calls at least once in this many pushes, whatever its credit, unless it asked to go further
    /// ([`reach`](crate::credit::Queued::reach)); and then it checks the bytes of its credit that often.
    pub look: u32,
    /// Objects below this many bytes may be pushed without a check of the bytes of the credit.
    pub small: u32,
}

impl Budget {
    /// 64 MiB and 2²⁰ callbacks.
    pub const fn threads() -> Budget {
        Budget {
            bytes: 64 << 20,
            count: 1 << 20,
            look: 256,
            small: 512,
        }
    }
}

//! The number of callbacks invoked at a time, and the response when too many are queued.
//!
//! A kernel invokes callbacks in small *batches*, so that a CPU with many of them still does other
//! work. A *flood* (callbacks come faster than grace periods end) lifts that limit and forces a scan;
//! *overload* (still more of them) makes the grace-period thread scan without pause.
//!
//! Decisions only. Nothing here reads a clock: where a batch has a time limit, [`Batch::wants_clock`] tells
//! the host when to read it, and the host passes the elapsed time.
//!
//! # Compared numbers
//! `n_cbs` is everything the CPU owes ([`CbList::len`](crate::cblist::CbList::len)), including extracted
//! callbacks. `n_force_qs` counts the scans begun ([`Counts::scans`](crate::Counts)).
//!
//! # Why a flood ends
//! The limit is lifted while a grace period is in progress and more than `qhimark` callbacks came since the
//! last check; it is restored once at most `qlowmark` are left. In between it stays: a limit that changed
//! with every batch would let the queue grow slowly without bound.

/// The tunables, under the kernel's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Callbacks in a batch.
    pub blimit: u64,
    /// Callbacks in a batch during a flood.
    pub max_blimit: u64,
    /// So many more than at the last check are a flood.
    pub qhimark: u64,
    /// With so few left a flood ends.
    pub qlowmark: u64,
    /// This many are overload; 0 is never, negative is twice `qhimark`.
    pub qovld: i64,
    /// `rcu_divisor`: a batch is at least the ready ones shifted right by this, 62 at most. Negative
    /// is 7.
    pub divisor: i32,
    /// `rcu_resched_ns`: time limit of a batch that has one, taken as 1 ms to 1 s.
    pub resched_ns: u64,
    /// Every batch in the soft interrupt or its thread has a time limit
    /// (`CONFIG_RCU_DOUBLE_CHECK_CB_TIME`).
    pub double_check: bool,
}

/// Batches above this have a time limit in any case.
const TIMED_ABOVE: u64 = 100;

/// The clock is read once in this many callbacks.
const CLOCK_EVERY: u64 = 32;

impl Limits {
    /// The defaults of Linux 6.12.
    pub const fn kernel_6_12() -> Limits {
        Limits {
            blimit: 10,
            max_blimit: 10_000,
            qhimark: 10_000,
            qlowmark: 100,
            qovld: -1,
            divisor: 7,
            resched_ns: 3_000_000,
            double_check: false,
        }
    }

    /// Is a CPU that owes this many overloaded? Its bit in the leaf follows this answer.
    pub fn overloaded(&self, n_cbs: u64) -> bool {
        let mark = match self.qovld {
            0 => return false,
            ..0 => self.qhimark.saturating_mul(2),
            mark => mark.unsigned_abs(),
        };
        n_cbs >= mark
    }

    fn shift(&self) -> u32 {
        match self.divisor {
            ..0 => 7,
            divisor => divisor.unsigned_abs().min(62),
        }
    }
}

/// The thread or context that invokes callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// The soft interrupt.
    Softirq,
    /// The per-CPU thread that replaces it (`use_softirq=0`).
    Rcuc,
    /// The thread of a CPU whose callbacks are offloaded.
    Rcuop,
}

/// The end of a batch that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    context: Context,
    limit: u64,
    time_ns: Option<u64>,
}

/// The state of the CPU after a callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Around {
    /// The scheduler wants this CPU.
    pub need_resched: bool,
    /// The batch interrupts the idle task.
    pub idle: bool,
    /// Time since the batch began, where [`Batch::wants_clock`] is true.
    pub elapsed_ns: Option<u64>,
}

impl Batch {
    /// The number of callbacks after which it may stop.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Does it have a time limit?
    pub fn is_timed(&self) -> bool {
        self.time_ns.is_some()
    }

    /// May it yield the processor after each callback?
    pub fn yields(&self) -> bool {
        self.context != Context::Softirq
    }

    /// Must the clock be read after this many callbacks?
    pub fn wants_clock(&self, invoked: u64) -> bool {
        self.is_timed() && invoked % CLOCK_EVERY == 0
    }

    /// Does it stop after this many callbacks? The rest goes back to the list; the soft interrupt is raised
    /// again, or the per-CPU thread notes that it has work.
    pub fn stops(&self, invoked: u64, around: Around) -> bool {
        let timed_out = || match (self.time_ns, around.elapsed_ns) {
            (Some(limit), Some(elapsed)) => self.wants_clock(invoked) && elapsed >= limit,
            _ => false,
        };
        match self.context {
            // With nothing else to do the count does not matter.
            Context::Softirq => {
                (invoked >= self.limit && (around.need_resched || !around.idle)) || timed_out()
            }
            Context::Rcuc => timed_out(),
            Context::Rcuop => false,
        }
    }
}

/// A CPU's state of batches and floods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BatchState {
    /// The limit is lifted: the CPU's `blimit` is `max_blimit`.
    flooded: bool,
    qlen_last_fqs_check: u64,
    n_force_qs_snap: u64,
}

impl BatchState {
    /// No flood.
    pub const fn new() -> BatchState {
        BatchState {
            flooded: false,
            qlen_last_fqs_check: 0,
            n_force_qs_snap: 0,
        }
    }

    /// Is the limit lifted?
    pub fn is_flooded(&self) -> bool {
        self.flooded
    }

    /// Were so many callbacks queued since the last check that grace periods have to hurry?
    pub fn is_flood(&self, limits: &Limits, n_cbs: u64) -> bool {
        n_cbs > self.qlen_last_fqs_check.saturating_add(limits.qhimark)
    }

    /// The thread that serves such a flood has been notified, with this many owed.
    pub(crate) fn looked(&mut self, n_cbs: u64) {
        self.qlen_last_fqs_check = n_cbs;
    }

    /// A flood while a grace period is in progress: lifts the limit; true if a scan has to be forced. False
    /// if a scan began since the last check, or with `only_pending`: only the newest callback waits, so this
    /// grace period does not serve it.
    pub fn flood(&mut self, n_cbs: u64, n_force_qs: u64, only_pending: bool) -> bool {
        self.flooded = true;
        let force = n_force_qs == self.n_force_qs_snap && !only_pending;
        self.n_force_qs_snap = n_force_qs;
        self.qlen_last_fqs_check = n_cbs;
        force
    }

    /// A batch begins; all `ready` callbacks have been extracted for it.
    pub fn begin(&mut self, limits: &Limits, ready: u64, n_cbs: u64, context: Context) -> Batch {
        let blimit = if self.flooded {
            limits.max_blimit
        } else {
            limits.blimit
        };
        let limit = blimit.max(ready >> limits.shift());
        let long = limit > TIMED_ABOVE || limits.double_check;
        let timed = context != Context::Rcuop && long;
        if context == Context::Rcuop {
            self.qlen_last_fqs_check = n_cbs;
        }
        Batch {
            context,
            limit,
            time_ns: timed.then(|| limits.resched_ns.clamp(1_000_000, 1_000_000_000)),
        }
    }

    /// A batch has ended, with `n_cbs` still owed.
    pub fn end(&mut self, limits: &Limits, n_cbs: u64, n_force_qs: u64) {
        if n_cbs <= limits.qlowmark {
            self.flooded = false;
        }
        if n_cbs == 0 {
            self.qlen_last_fqs_check = 0;
            self.n_force_qs_snap = n_force_qs;
        } else if n_cbs < self.qlen_last_fqs_check.saturating_sub(limits.qhimark) {
            self.qlen_last_fqs_check = n_cbs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits::kernel_6_12();
    const BUSY: Around = Around {
        need_resched: false,
        idle: false,
        elapsed_ns: None,
    };
    const IDLE: Around = Around { idle: true, ..BUSY };

    fn batch(ready: u64, context: Context) -> Batch {
        BatchState::new().begin(&LIMITS, ready, ready, context)
    }

    #[test]
    fn a_batch_is_ten_or_a_share_of_what_is_ready() {
        let rows = [(1, 10, false), (1279, 10, false), (1408, 11, false)];
        // Beyond 12800 ready ones there is a time limit.
        let rows = rows
            .into_iter()
            .chain([(12_800, 100, false), (12_928, 101, true)]);
        for (ready, limit, timed) in rows {
            for context in [Context::Softirq, Context::Rcuc, Context::Rcuop] {
                let it = batch(ready, context);
                let timed = timed && context != Context::Rcuop;
                assert_eq!((it.limit(), it.is_timed()), (limit, timed), "{ready}");
            }
        }
        for (divisor, limit) in [(-3, 78), (0, 10_000), (3, 1250), (62, 10), (99, 10)] {
            let limits = Limits { divisor, ..LIMITS };
            let it = BatchState::new().begin(&limits, 10_000, 10_000, Context::Softirq);
            assert_eq!(it.limit(), limit, "divisor {divisor}");
        }
    }

    #[test]
    fn the_soft_interrupt_stops_at_the_limit_unless_the_cpu_is_idle() {
        let it = batch(50, Context::Softirq);
        let wanted = Around {
            need_resched: true,
            ..IDLE
        };
        let rows = [
            (9, BUSY, false),
            (10, BUSY, true),
            (10, IDLE, false),
            (9, wanted, false),
            (10, wanted, true),
        ];
        for (invoked, around, stops) in rows {
            assert_eq!(it.stops(invoked, around), stops, "{invoked} {around:?}");
        }
        for context in [Context::Rcuc, Context::Rcuop] {
            assert!(!batch(50, context).stops(50, wanted), "{context:?}");
            assert!(batch(50, context).yields() && !it.yields());
        }
    }

    #[test]
    fn time_is_looked_at_once_in_32_and_stops_the_contexts_that_have_a_limit() {
        let at = |ns| Around {
            elapsed_ns: Some(ns),
            ..IDLE
        };
        for context in [Context::Softirq, Context::Rcuc, Context::Rcuop] {
            let it = batch(100_000, context);
            let timed = context != Context::Rcuop;
            let looks = (1..=96).filter(|&n| it.wants_clock(n)).count();
            assert_eq!(looks, if timed { 3 } else { 0 });
            assert!(!it.stops(32, at(2_999_999)));
            assert_eq!(it.stops(32, at(3_000_000)), timed, "{context:?}");
            assert!(!it.stops(33, at(u64::MAX)), "the clock is not read yet");
        }
        let it = batch(100, Context::Rcuc);
        assert!(!it.wants_clock(32) && !it.stops(32, at(u64::MAX)), "small");
        for (resched_ns, used) in [(0, 1_000_000), (u64::MAX, 1_000_000_000)] {
            let limits = Limits {
                resched_ns,
                ..LIMITS
            };
            let it = BatchState::new().begin(&limits, 1 << 20, 1 << 20, Context::Rcuc);
            assert!(!it.stops(32, at(used - 1)) && it.stops(32, at(used)));
        }
    }

    #[test]
    fn on_request_every_batch_but_the_offload_threads_has_a_time_limit() {
        let limits = Limits {
            double_check: true,
            ..LIMITS
        };
        for context in [Context::Softirq, Context::Rcuc, Context::Rcuop] {
            let it = BatchState::new().begin(&limits, 1, 1, context);
            assert_eq!(it.is_timed(), context != Context::Rcuop);
        }
    }

    #[test]
    fn a_flood_lifts_the_limit_until_little_is_left() {
        let mut it = BatchState::new();
        assert!(!it.is_flood(&LIMITS, 10_000) && it.is_flood(&LIMITS, 10_001));
        assert!(it.flood(10_001, 0, false), "no scan was forced yet");
        assert!(!it.is_flood(&LIMITS, 20_001) && it.is_flood(&LIMITS, 20_002));
        assert!(!it.flood(20_002, 1, false), "a scan was made meanwhile");
        assert!(!it.flood(30_003, 1, true), "no callback needs the scan");
        let batch = it.begin(&LIMITS, 20, 30_003, Context::Softirq);
        assert_eq!((batch.limit(), batch.is_timed()), (10_000, true));
        it.end(&LIMITS, 101, 1);
        assert!(it.is_flooded());
        it.end(&LIMITS, 100, 1);
        assert!(!it.is_flooded());
    }

    #[test]
    fn what_is_remembered_falls_with_the_queue() {
        let mut it = BatchState::new();
        it.flood(30_000, 3, true);
        it.end(&LIMITS, 20_000, 4);
        assert!(!it.is_flood(&LIMITS, 40_000), "not lowered yet");
        it.end(&LIMITS, 19_999, 4);
        assert!(it.is_flood(&LIMITS, 30_000), "lowered to 19999");
        it.end(&LIMITS, 0, 5);
        assert!(it.is_flood(&LIMITS, 10_001));
        assert!(it.flood(10_001, 5, false), "the count of scans was renewed");
        let _ = it.begin(&LIMITS, 10, 7_000, Context::Rcuop);
        assert!(!it.is_flood(&LIMITS, 17_000) && it.is_flood(&LIMITS, 17_001));
    }

    #[test]
    fn a_flood_is_notified_again_after_as_many_more() {
        let mut it = BatchState::new();
        it.looked(12_000);
        assert!(!it.is_flood(&LIMITS, 22_000) && it.is_flood(&LIMITS, 22_001));
    }

    #[test]
    fn overload_is_twice_the_high_mark_unless_given() {
        let at = |qovld, n_cbs| Limits { qovld, ..LIMITS }.overloaded(n_cbs);
        assert!(!at(-1, 19_999) && at(-1, 20_000));
        assert!(!at(50, 49) && at(50, 50));
        assert!(!at(0, u64::MAX), "switched off");
    }
}

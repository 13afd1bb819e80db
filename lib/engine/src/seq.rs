//! Grace-period sequence numbers and the cookies taken from them.
//!
//! One wrapping word is the whole state: the low two bits are the phase (0 = idle, anything else = a grace
//! period is in progress), the rest counts grace periods. One grace period is therefore 4.
//!
//! ```text
//!        4k            4k+1 (2)             4(k+1)
//!        idle ──start──▶ in flight ──end──▶ idle
//!   snap 4(k+1)          4(k+2)             4(k+2)
//! ```
//!
//! A *cookie* ([`Seq::snap`]) is the value at which a full grace period from now will have passed. While one
//! is in flight its end proves nothing (a reader may have begun after it started and before now), so the
//! cookie is the end of the one after it.
//!
//! # Invariants
//! * All comparisons are modular: a value up to half the space ahead is "greater or equal". `ge` and `lt` are
//!   exact complements, so no pair of values falls between them.
//! * `start` leaves phase 1, `end` leaves phase 0: both assert it. A violated phase means two grace periods
//!   at once, after which no answer is valid.
//! * Idle values and cookies are multiples of 4; the odd word 1 is free to mean "already completed".
//!
//! # Ordering
//! These are numbers without an order of memory. The callers' fences make "done" a guarantee: after `start`,
//! before `end`, after `snap`.
//!
//! There is no `Ord`: order modulo 2^n is not transitive, so sorting such values would be a mistake.
//!
//! With `--cfg quiescent_narrow_seq` the word has 16 bits, so that tests reach wrap-around.

use core::fmt;

/// The machine word of a sequence number.
#[cfg(not(quiescent_narrow_seq))]
pub type Word = u64;
/// The machine word of a sequence number: narrow, so that tests wrap it.
#[cfg(quiescent_narrow_seq)]
pub type Word = u16;

#[cfg(not(quiescent_narrow_seq))]
type Signed = i64;
#[cfg(quiescent_narrow_seq)]
type Signed = i16;

/// A grace-period sequence number, or a cookie taken from one.
///
/// # Example
/// ```
/// use quiescent_engine::seq::Seq;
///
/// let idle = Seq::INITIAL;
/// let cookie = idle.snap();
/// let in_flight = idle.start();
/// assert!(in_flight.started(cookie) && !in_flight.done(cookie));
/// assert!(in_flight.end().done(cookie));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Seq(Word);

impl Seq {
    /// Bits of the phase.
    pub const CTR_SHIFT: u32 = 2;

    /// Mask of the phase.
    pub const STATE_MASK: Word = (1 << Self::CTR_SHIFT) - 1;

    /// One whole grace period.
    pub const GP: Word = 1 << Self::CTR_SHIFT;

    /// Guard band of [`done_exact`](Self::done_exact): two grace periods.
    ///
    /// It is the largest legal distance between a fresh cookie and the copy against which it is polled. A
    /// cookie is taken from the global counter, the poll reads the root node's copy, and that copy lags by
    /// one "start": the global counter shows 4k+1, so the cookie is 4k+8, while the copy still shows 4k. A
    /// smaller band treats such a cookie as "long expired", hence done: kernels before 6.15 used 7 and ended
    /// about fifty grace periods an hour too early on 400 guests. Linux 6.12 as released uses 10, newer ones
    /// 8.
    pub const GUARD: Word = 2 * Self::GP;

    /// The first `gp_seq`: 300 grace periods before zero, so that wrap-around happens soon after the start
    /// and not after years.
    pub const INITIAL: Seq = Seq((0 as Word).wrapping_sub(300 << Self::CTR_SHIFT));

    /// The first expedited, polled and barrier numbers.
    pub const ZERO: Seq = Seq(0);

    /// The cookie that is always done. [`snap`](Self::snap) never yields an odd value.
    pub const COMPLETED: Seq = Seq(1);

    /// A sequence number from its raw word (a trace, a published atomic).
    pub const fn from_raw(raw: Word) -> Seq {
        Seq(raw)
    }

    /// The number in 64 bits, whatever its width here: for hosts that publish it in an atomic.
    #[allow(clippy::unnecessary_cast, reason = "the narrow build has 16 bits")]
    pub const fn to_bits(self) -> u64 {
        self.0 as u64
    }

    /// The reverse of [`to_bits`](Seq::to_bits).
    #[allow(clippy::unnecessary_cast, reason = "the narrow build has 16 bits")]
    pub const fn from_bits(bits: u64) -> Seq {
        Seq(bits as Word)
    }

    /// The raw word.
    pub const fn raw(self) -> Word {
        self.0
    }

    /// The value as traces print it: signed.
    #[allow(clippy::unnecessary_cast, reason = "widens in the narrow build only")]
    pub const fn signed(self) -> i64 {
        self.0 as Signed as i64
    }

    /// `self >= other`, modular: `self` is at most half the space ahead.
    pub const fn ge(self, other: Seq) -> bool {
        self.0.wrapping_sub(other.0) <= Word::MAX / 2
    }

    /// `self < other`, modular: the exact complement of [`ge`](Self::ge).
    ///
    /// Not `other.ge(self)` negated: for two values exactly half the space apart both would be "less".
    pub const fn lt(self, other: Seq) -> bool {
        self.0.wrapping_sub(other.0) > Word::MAX / 2
    }

    /// The phase: 0 idle, non-zero in flight. Normal and expedited grace periods use only 1; SRCU
    /// uses 1 and 2.
    pub const fn state(self) -> Word {
        self.0 & Self::STATE_MASK
    }

    /// The count of grace periods, without the phase.
    pub const fn ctr(self) -> Word {
        self.0 >> Self::CTR_SHIFT
    }

    /// The number once a grace period has started. A full fence must follow before readers are scanned.
    ///
    /// # Panics
    /// If one is in flight already.
    pub const fn start(self) -> Seq {
        let next = Seq(self.0.wrapping_add(1));
        assert!(
            next.state() == 1,
            "a grace period was started while another is in flight: end it first"
        );
        next
    }

    /// The number once the grace period has ended: the next multiple of 4. A full fence must precede.
    ///
    /// # Panics
    /// If none is in flight.
    pub const fn end(self) -> Seq {
        assert!(
            self.state() != 0,
            "a grace period was ended that never started"
        );
        Seq((self.0 | Self::STATE_MASK).wrapping_add(1))
    }

    /// The cookie for a full grace period from now: the value at which it is done.
    ///
    /// Idle: the end of the very next grace period. In flight: of the one after the current.
    pub const fn snap(self) -> Seq {
        Seq(self.0.wrapping_add(2 * Self::STATE_MASK + 1) & !Self::STATE_MASK)
    }

    /// Has the grace period that satisfies `cookie` begun? For cookies from [`snap`](Self::snap).
    pub const fn started(self, cookie: Seq) -> bool {
        Seq(cookie.0.wrapping_sub(1) & !Self::STATE_MASK).lt(self)
    }

    /// Has `cookie` been reached? A cookie older than half the space is "not done" again; see
    /// [`done_exact`](Self::done_exact).
    pub const fn done(self, cookie: Seq) -> bool {
        self.ge(cookie)
    }

    /// Like [`done`](Self::done), but a cookie so old that it appears to be in the future counts as done,
    /// too. The only false negatives are in the band of [`GUARD`](Self::GUARD) below the cookie, where fresh
    /// cookies are.
    pub const fn done_exact(self, cookie: Seq) -> bool {
        self.ge(cookie) || self.lt(Seq(cookie.0.wrapping_sub(Self::GUARD)))
    }

    /// Did a grace period end between `self` (older) and `new`?
    pub const fn completed_gp(self, new: Seq) -> bool {
        self.lt(new.floor())
    }

    /// Did a grace period start between `self` (older) and `new`?
    pub const fn new_gp(self, new: Seq) -> bool {
        self.ceil().lt(new)
    }

    /// Is `self` more than a quarter of the space behind `newer`? Then the holder of `self` slept so long
    /// that its knowledge is stale (`gpwrap`), and must be updated before the difference reaches half the
    /// space and becomes "ahead".
    pub const fn lags_quarter(self, newer: Seq) -> bool {
        Seq(self.0.wrapping_add(Word::MAX / 4)).lt(newer)
    }

    /// The last idle value at or before this one.
    const fn floor(self) -> Seq {
        Seq(self.0 & !Self::STATE_MASK)
    }

    /// The first idle value at or after this one.
    const fn ceil(self) -> Seq {
        Seq(self.0.wrapping_add(Self::STATE_MASK)).floor()
    }
}

/// As traces print it: signed.
impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.signed(), f)
    }
}

#[cfg(test)]
mod tests;

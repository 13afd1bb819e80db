//! Polled grace periods: a cookie now, a check later, without sleeping.
//!
//! Two forms. The *single word* has a counter of its own ([`Polled`]) into which normal and expedited
//! grace periods are merged; its cookie is one [`Seq`]. The *full* form ([`FullCookie`]) is a pair, one
//! cookie for each kind of grace period, and loses nothing.
//!
//! # The merged counter
//! When a grace period of either kind starts, the counter is started if it is idle, and its value is stored
//! for that kind. When one ends, the counter is ended if it still shows that kind's value.
//!
//! *Never too early.* The counter leaves the value `v` only through the end of a grace period that
//! started while the counter showed `v`. So every period of the counter contains a whole grace
//! period, and a cookie waits for a whole period of the counter.
//!
//! *Sometimes late.* Overlapping grace periods count once, so one of them can be missed entirely: after a
//! cookie was taken, *one* `synchronize_rcu` need not satisfy it. Two in sequence always do: the first ends
//! whatever the counter showed, the second either starts a new period or was started in one, and ends it.
//!
//! # The full form
//! Take the cookie from the **global** counter, poll the **root node's copy**. The copy is advanced before
//! callbacks may run and the global counter after, so polling the global one would be late. A cookie taken
//! from the copy would be too early for a CPU that comes online between the start of the global counter and
//! that of the copy. So the copy may lag by one start when a fresh cookie is polled: see [`Seq::GUARD`].
//!
//! All changes are made under the root's lock; fences around taking and polling are the caller's: a full
//! one before taking and before polling, one more after a poll that said "done".

use quiescent_engine::seq::Seq;

/// The two kinds of grace period. At most one of each kind is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GpKind {
    /// Counted by `gp_seq`.
    Normal,
    /// Counted by the expedited sequence.
    Expedited,
}

/// The merged counter of the single-word form.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Polled {
    seq: Seq,
    /// The counter's value at the start of the normal grace period in progress; [`Seq::ZERO`] (an idle value,
    /// which is never such a value) if there is none or if it no longer matters.
    norm_snap: Seq,
    /// The same for the expedited one.
    exp_snap: Seq,
}

impl Polled {
    /// Idle, at zero.
    pub const fn new() -> Polled {
        Polled {
            seq: Seq::ZERO,
            norm_snap: Seq::ZERO,
            exp_snap: Seq::ZERO,
        }
    }

    /// A grace period of this kind has started.
    ///
    /// # Panics
    /// If the last one of this kind has neither ended nor been counted.
    pub fn started(&mut self, kind: GpKind) {
        if self.seq.state() == 0 {
            self.seq = self.seq.start();
        }
        let now = self.seq;
        let snap = self.snap_mut(kind);
        assert!(
            *snap == Seq::ZERO,
            "two {kind:?} grace periods at once: report the end of the first before the second starts"
        );
        *snap = now;
    }

    /// A grace period of this kind has ended.
    pub fn ended(&mut self, kind: GpKind) {
        let now = self.seq;
        let own = core::mem::replace(self.snap_mut(kind), Seq::ZERO);
        if own != Seq::ZERO && own == now {
            self.seq = now.end();
            // A grace period of the other kind that is in flight no longer counts.
            self.norm_snap = Seq::ZERO;
            self.exp_snap = Seq::ZERO;
        }
    }

    /// The cookie for a full grace period from now. Requests nothing.
    pub const fn state(&self) -> Seq {
        self.seq.snap()
    }

    /// Has a full grace period passed since [`state`](Self::state) gave this cookie? May say "no" for one
    /// that overlapped another; never says "yes" too early.
    pub fn poll(&self, cookie: Seq) -> bool {
        cookie == Seq::COMPLETED || self.seq.done_exact(cookie)
    }

    fn snap_mut(&mut self, kind: GpKind) -> &mut Seq {
        match kind {
            GpKind::Normal => &mut self.norm_snap,
            GpKind::Expedited => &mut self.exp_snap,
        }
    }
}

impl Default for Polled {
    fn default() -> Polled {
        Polled::new()
    }
}

/// A cookie for each kind of grace period.
///
/// # Example
/// ```
/// use quiescent_kernel::{polled::FullCookie, seq::Seq};
///
/// let gp_seq = Seq::INITIAL;
/// let cookie = FullCookie::take(gp_seq, Seq::ZERO);
/// assert!(!cookie.done(gp_seq, Seq::ZERO));
/// // Either kind will do.
/// assert!(cookie.done(gp_seq, Seq::ZERO.start().end()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FullCookie {
    /// For normal grace periods.
    pub norm: Seq,
    /// For expedited ones.
    pub exp: Seq,
}

impl FullCookie {
    /// The cookie that is always satisfied.
    pub const COMPLETED: FullCookie = FullCookie {
        norm: Seq::COMPLETED,
        exp: Seq::COMPLETED,
    };

    /// "A full grace period from now", from the **global** `gp_seq` and the expedited sequence.
    pub const fn take(global: Seq, expedited: Seq) -> FullCookie {
        FullCookie {
            norm: global.snap(),
            exp: expedited.snap(),
        }
    }

    /// Has a full grace period of either kind passed, by the **root node's copy** of `gp_seq` and the
    /// expedited sequence?
    pub fn done(&self, root: Seq, expedited: Seq) -> bool {
        self.norm == Seq::COMPLETED
            || root.done_exact(self.norm)
            || self.exp == Seq::COMPLETED
            || expedited.done_exact(self.exp)
    }
}

#[cfg(test)]
mod tests;

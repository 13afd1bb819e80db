//! The budget: the limit of what a domain holds, and the response near it (rule R6).
//!
//! # Counted amounts
//! *Held* is everything that the engine knows to be queued or being invoked, in all lists
//! of all CPUs: callbacks, and their bytes. Each [`Cpu`] remembers its part of the total (its *share*), and
//! every call that has both adds the difference. So the total is always the sum of the shares; it does not
//! drift.
//!
//! [`ran`](Cpu::ran) has the queue's lock only. The callbacks that it removed stay in the total until the
//! next call that has both locks. After it a host reads [`unreported`](Cpu::unreported) and makes that call
//! ([`tell`](Cpu::tell)) once enough has gathered, or the queue is empty: a total is never too low, too high
//! by little, and exact where nothing is queued.
//!
//! *Lent* is the number that owners may queue without a report: their credit. At most an eighth of the budget
//! is lent, in fair shares, which bounds the unreported amount. Only the floor, [`LEAST`] a lane, is always
//! lent: an owner that reports each push is slow.
//!
//! # Levels
//! | level | from | until | effect |
//! |---|---|---|---|
//! | [`Easy`](Level::Easy) | | | none |
//! | [`Near`](Level::Near) | 3/4 | below 5/8 | refills do more (below); once, a takeover of all queues |
//! | [`Over`](Level::Over) | past it | below 7/8 | reports; after each one a takeover of all queues |
//!
//! Near the budget each refill requests a grace period, has its owner free a batch at once and two entries a
//! push from then on, and lends no more than is left. Where other threads free or run what an owner queues,
//! the owner yields its processor to them at each refill. Past the budget such an owner has no credit at all:
//! it pushes and yields in turn, so that one worker keeps up with several such owners. Other owners yield at
//! each refill then: what is held can only shrink when readers end their sections, and they may have no
//! processor.
//!
//! The larger of the two measures (bytes, callbacks) decides. The levels have gaps between them, so that
//! they do not change with every callback.
//!
//! The takeover of all queues serves threads that have gone quiet. Their entries would otherwise hold the
//! budget until their deadline, seconds later.
//!
//! # Refusals
//! [`admit`](Cpu::admit) refuses an object that does not fit beside what is held and what is lent to others
//! (an eighth of the budget at most: the floors do not count). An object larger than the budget fits where
//! nothing is held. `refill` refuses nothing: its entries are already queued.
//!
//! # The bound
//! If every caller uses `admit`, the queued amount stays within the budget, except for the floors beyond that
//! eighth ([`LEAST`] a lane and owner), and one object an owner (the last one of a credit may be large).

use crate::cblist::CbList;
pub use crate::cblist::Held;
pub use crate::config::Budget;
use crate::cpu::Cpu;
use crate::credit::{Credit, Queued};
use crate::global::Global;
pub use crate::global::Level;
use crate::host::{LANES, Lane, Now};

/// So much is lent to an owner for a lane, whatever is left.
pub const LEAST: Held = Held {
    count: 16,
    bytes: 8 << 10,
};

/// Reports to the program are at least so far apart.
const APART_NS: u64 = 1_000_000_000;

/// The limit of run and unreported callbacks.
pub const SLACK: Held = Held {
    count: 64,
    bytes: 32 << 10,
};

impl Global {
    /// The limit of what the domain may hold.
    pub fn budget(&self) -> Budget {
        self.config.budget
    }

    /// The amount that it holds, as far as reported.
    pub fn held(&self) -> Held {
        self.budget.held.0
    }

    /// CPUs with a loan.
    pub fn borrowers(&self) -> u64 {
        u64::from(self.budget.borrowers)
    }

    /// The amount that owners may queue without a report.
    pub fn lent(&self) -> Held {
        self.budget.lent.0
    }

    /// How near the budget is.
    pub fn level(&self) -> Level {
        self.budget.level
    }

    /// What was held when the budget was exceeded last, and that budget: for the report, which is made later.
    #[inline]
    pub fn exceeded(&self) -> Option<(Held, Held)> {
        Some(self.budget.exceeded).filter(|(held, _)| *held != Held::NOTHING)
    }

    /// Sets another budget. True if the worker has to be woken: the budget is used up already, or nearly.
    /// Credit that is out stays valid.
    #[inline]
    pub fn set_budget(&mut self, bytes: u64, count: u64) -> bool {
        self.config.budget.bytes = bytes;
        self.config.budget.count = count;
        self.find_level();
        self.budget.take_kick()
    }

    /// True, once, if everything is to be taken over: the worker asks when it begins a pass.
    pub fn sweeps_all(&mut self) -> bool {
        self.budget.kick = false;
        core::mem::take(&mut self.budget.sweep)
    }

    /// Is a report to the program due now?
    pub(crate) fn take_news(&mut self, now_ns: u64) -> bool {
        let news = self.budget.news && now_ns >= self.budget.quiet_until;
        if news {
            self.budget.news = false;
            self.budget.quiet_until = now_ns.saturating_add(APART_NS);
        }
        news
    }

    /// At this level already, is there more to do about it?
    pub(crate) fn press(&mut self) {
        if self.budget.level == Level::Over {
            self.budget.sweep();
        }
    }

    /// Would this many bytes more fit, of a CPU that has been lent this?
    fn fits(&self, bytes: u64, own: Held) -> bool {
        let (budget, held, lent) = (self.config.budget, self.held(), self.lent());
        let room = |most: u64, held: u64, lent: u64, more: u64| {
            let unreported = lent.min(most / 8);
            let after = held
                .checked_add(unreported)
                .and_then(|held| held.checked_add(more));
            after.is_some_and(|after| after <= most)
        };
        let fits = room(budget.count, held.count, lent.count - own.count, 1)
            && room(budget.bytes, held.bytes, lent.bytes - own.bytes, bytes);
        fits || held.count == 0
    }

    /// The total or the budget has changed.
    fn find_level(&mut self) {
        let (budget, held) = (self.config.budget, self.held());
        let past = |share: fn(u64) -> u64| {
            held.bytes > share(budget.bytes) || held.count > share(budget.count)
        };
        let over = past(|most| most);
        let stays_over = past(|most| most - most / 8);
        let near = past(|most| most - most.div_ceil(4));
        let stays_near = past(|most| most / 2 + most / 8);
        let before = self.budget.level;
        self.budget.level = match before {
            _ if over => Level::Over,
            Level::Over if stays_over => Level::Over,
            _ if near => Level::Near,
            Level::Near | Level::Over if stays_near => Level::Near,
            _ => Level::Easy,
        };
        if self.budget.level > before {
            self.budget.sweep();
        }
        if self.budget.level != Level::Over {
            self.budget.news = false;
        } else if before != Level::Over {
            self.counts.over_budget += 1;
            self.budget.news = true;
            let Budget { count, bytes, .. } = budget;
            self.budget.exceeded = (held, Held { count, bytes });
        }
    }

    /// The most to lend for a lane, to one of this many borrowers.
    fn loan(&self, borrowers: u64) -> Held {
        let (budget, held, lent) = (self.config.budget, self.held(), self.lent());
        let near = self.budget.level != Level::Easy;
        let part = |most: u64, held: u64, lent: u64, least: u64| {
            let reserve = most / 8;
            let share = (reserve / borrowers).min(reserve.saturating_sub(lent));
            let left = most.saturating_sub(held) / borrowers;
            let share = if near { share.min(left) } else { share };
            (share / 3).max(least) // three lanes
        };
        Held {
            count: part(budget.count, held.count, lent.count, LEAST.count),
            bytes: part(budget.bytes, held.bytes, lent.bytes, LEAST.bytes),
        }
    }
}

impl Cpu {
    /// The owner asks before it queues one more object of this weight. True: it fits, and is to be queued.
    /// False: it does not. In either case a [`refill`](Cpu::refill) follows in the same hold of the queue's
    /// lock: it starts whatever helps after a refusal.
    pub fn admit(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        bytes: u64,
        now: Now,
    ) -> bool {
        self.account(global, queued, now.ns);
        self.tell(global);
        let fits = global.fits(bytes, self.lent);
        if fits {
            // It counts from here on. The next refill corrects the share, whether it was queued or not.
            let before = self.reported;
            let with = Held {
                count: before.count + 1,
                bytes: before.bytes.saturating_add(bytes),
            };
            global.budget.held.change(before, with);
            self.reported = with;
            global.find_level();
        } else {
            global.budget.sweep();
        }
        fits
    }

    /// Has so much been run that it has to be reported to the total ([`tell`](Cpu::tell))?
    pub fn unreported(&self) -> bool {
        let (reported, held) = (self.reported, self.len());
        let gone = reported.count.saturating_sub(held);
        let many = held == 0 || gone >= SLACK.count;
        gone != 0 && (many || reported.bytes.saturating_sub(self.held().bytes) >= SLACK.bytes)
    }

    /// Updates the totals with this CPU's shares.
    pub fn tell(&mut self, global: &mut Global) {
        self.report_untended(global);
        let held = self.held();
        if held != self.reported {
            global.budget.held.change(self.reported, held);
            self.reported = held;
            global.find_level();
        }
    }

    /// This CPU's part of the total, as of its last report.
    pub fn reported(&self) -> Held {
        self.reported
    }

    /// The credit of its owner.
    pub fn lent(&self) -> Held {
        self.lent
    }

    /// The amount queued here or being invoked.
    pub fn held(&self) -> Held {
        let bytes = |sum: u64, bytes| sum.saturating_add(bytes);
        Held {
            count: self.len(),
            bytes: self.lists.iter().map(CbList::bytes).fold(0, bytes),
        }
    }

    /// Reduces new credit to the amount that can be lent, and notes it.
    #[inline(never)]
    pub(crate) fn lend(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        credit: &mut [Credit; LANES],
    ) {
        self.give_back(global);
        let loan = global.loan(global.borrowers() + 1);
        let budget = global.config.budget;
        let (look, small) = (u64::from(budget.look), u64::from(budget.small));
        let mut lent = Held::default();
        for lane in [Lane::Plain, Lane::Own, Lane::Code] {
            let (credit, end) = (&mut credit[lane as usize], self.lists[lane as usize].end());
            let reach = queued[lane as usize].reach.max(look);
            let mut count = credit.until.wrapping_sub(end).min(reach);
            if count == 0 {
                continue; // no credit: each push is reported
            }
            // Of plain memory, pushes before a check of the bytes may be small, and heavier than the credit.
            // Each push of code checks the bytes.
            let small = match lane {
                Lane::Plain => small,
                Lane::Code | Lane::Own | Lane::Head => {
                    credit.bytes = credit.bytes.min(loan.bytes);
                    0
                }
            };
            let mut bytes = credit.bytes.max(count.min(look) * small);
            if count > look {
                bytes = credit.bytes + look * small;
                if count > loan.count || bytes > loan.bytes {
                    (count, bytes) = (look, credit.bytes.max(look * small));
                    credit.until = end.wrapping_add(look);
                }
            }
            let most = loan
                .bytes
                .checked_div(small)
                .unwrap_or(u64::MAX)
                .min(loan.count);
            if most < look {
                count = count.min(most.max(LEAST.count));
                credit.until = end.wrapping_add(count);
                credit.bytes = credit.bytes.min(loan.bytes);
                bytes = credit.bytes.max(count * small);
            }
            lent.count += count;
            lent.bytes += bytes;
        }
        self.borrow(global, lent);
    }

    /// The owner has no credit any more.
    pub(crate) fn give_back(&mut self, global: &mut Global) {
        self.borrow(global, Held::default());
    }

    fn borrow(&mut self, global: &mut Global, lent: Held) {
        let before = core::mem::replace(&mut self.lent, lent);
        global.budget.lent.change(before, lent);
        global.budget.borrowers += u32::from(lent.count != 0);
        global.budget.borrowers -= u32::from(before.count != 0);
    }
}

#[cfg(test)]
mod tests;

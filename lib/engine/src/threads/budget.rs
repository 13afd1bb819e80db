//! The budget: how much a domain may hold, and what happens as it comes near (rule R6).
//!
//! # What is counted
//! *Held* is what the engine knows to be queued or being invoked, in all lists of all CPUs of a thread
//! host: callbacks, and the bytes that were given with them. Each [`Cpu`] remembers what the total
//! contains of it (its *share*), and every call that has both adds the difference. So the total is the
//! sum of the shares, always; it does not drift.
//!
//! [`ran`](Cpu::ran) has the queue's lock only. What it took off is in no total until the next call that
//! has both. A host asks [`untold`](Cpu::untold) after it and makes that call ([`tell`](Cpu::tell)) once
//! enough has gathered, or the queue is empty: a total is never too low, too high by little, and exact
//! where nothing is queued.
//!
//! *Lent* is what owners may queue without saying so: their credit. At most an eighth of the budget is
//! lent, in fair shares, so that what nobody has been told of yet cannot surprise anyone. Only the floor,
//! [`LEAST`] a lane, is lent in any case: an owner that has to ask for each push is slow.
//!
//! # Levels
//! | level | from | until | what it changes |
//! |---|---|---|---|
//! | [`Easy`](Level::Easy) | | | nothing |
//! | [`Near`](Level::Near) | 3/4 | below 5/8 | each refill asks for a grace period, has its owner free a batch there and then and two a push from there on, and lends no more than is left; once, everything is taken over |
//! | [`Over`](Level::Over) | past it | below 7/8 | the program is told; whenever that has been done, everything is taken over again |
//!
//! The larger of the two measures (bytes, callbacks) decides. The levels have gaps between them, so that
//! they do not change with every callback.
//!
//! Taking everything over is for the queues of threads that have gone quiet. Nobody else frees those
//! before their deadline, and a budget that is used up by them would be a wait of seconds for nothing.
//!
//! # Who is refused
//! [`admit`](Cpu::admit) says no to whatever does not fit beside what is held and what is lent to others
//! (an eighth of the budget at most: the floors do not count). Something larger than the budget fits where
//! nothing is held, or it could never go. `refill` refuses nobody: what is queued is queued.
//!
//! # The bound
//! Where everybody asks, what is queued stays within the budget, but for the floors beyond that eighth
//! ([`LEAST`] a lane and owner), and one object an owner (the last one of a credit may be large).

pub use crate::common::config::Budget;
use crate::common::cpu::{Cpu, LANES, Lane};
use crate::common::global::Global;
use crate::common::host::Now;
pub use crate::common::parts::threads::{Held, Level};
use crate::threads::credit::{Credit, Queued};

/// So much is lent to an owner for a lane, whatever is left.
pub const LEAST: Held = Held {
    count: 16,
    bytes: 8 << 10,
};

/// So much may have been run and not been told.
pub const SLACK: Held = Held {
    count: 64,
    bytes: 32 << 10,
};

impl Global {
    /// What the domain may hold.
    pub fn budget(&self) -> Budget {
        self.config.budget
    }

    /// What it holds, as far as it has been told.
    pub fn held(&self) -> Held {
        self.budget.held.held()
    }

    /// CPUs with a loan.
    pub fn borrowers(&self) -> u64 {
        self.budget.borrowers
    }

    /// What owners may queue without saying so.
    pub fn lent(&self) -> Held {
        self.budget.lent.held()
    }

    /// How near the budget is.
    pub fn level(&self) -> Level {
        self.budget.level
    }

    /// Another budget from now on. True if the worker has to be woken: it is used up already, or nearly.
    /// Credit that is out stays good.
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

    /// Is there something to tell the program, now?
    pub(crate) fn take_news(&mut self, now_ns: u64) -> bool {
        let quiet_ns = self.config.budget.quiet_ns;
        let soon = |last: u64| now_ns < last.saturating_add(quiet_ns);
        let news = self.budget.news && !self.budget.told_at.is_some_and(soon);
        if news {
            self.budget.news = false;
            self.budget.told_at = Some(now_ns);
        }
        news
    }

    /// At this level already, is there more to do about it?
    pub(crate) fn press(&mut self) {
        if self.budget.level == Level::Over {
            self.budget.sweep();
        }
    }

    /// Would so many bytes more fit, of a CPU that has been lent this?
    fn fits(&self, bytes: u64, own: Held) -> bool {
        let (budget, held, lent) = (self.config.budget, self.held(), self.lent());
        let room = |most: u64, held: u64, lent: u64, more: u64| {
            let untold = lent.min(most / 8);
            let after = held
                .checked_add(untold)
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
        let near = past(|most| most - most / 4);
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
            (share / 2).max(least) // two lanes
        };
        Held {
            count: part(budget.count, held.count, lent.count, LEAST.count),
            bytes: part(budget.bytes, held.bytes, lent.bytes, LEAST.bytes),
        }
    }
}

impl Cpu {
    /// The owner would queue one more object of this weight, and asks first. True: it fits, and is to be
    /// queued. False: it does not. In either case a [`refill`](Cpu::refill) follows in the same hold of the
    /// queue's lock: it does what can be done about a refusal.
    pub fn admit(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        bytes: u64,
        now: Now,
    ) -> bool {
        self.account(global, queued, now.ns);
        self.tell(global);
        let fits = global.fits(bytes, self.share.lent);
        if fits {
            // It counts from here on. The refill puts the share right, whatever came of it.
            let told = self.share.told;
            let with = Held {
                count: told.count + 1,
                bytes: told.bytes.saturating_add(bytes),
            };
            global.budget.held.replace(told, with);
            self.share.told = with;
            global.find_level();
        } else {
            global.budget.sweep();
        }
        fits
    }

    /// Has so much been run that the total has to hear of it ([`tell`](Cpu::tell))?
    pub fn untold(&self) -> bool {
        let (told, held) = (self.share.told, self.held());
        let gone = told.count.saturating_sub(held.count);
        let gone_bytes = told.bytes.saturating_sub(held.bytes);
        gone != 0 && (held.count == 0 || gone >= SLACK.count || gone_bytes >= SLACK.bytes)
    }

    /// The totals hear what has become of this CPU's shares.
    pub fn tell(&mut self, global: &mut Global) {
        self.tell_untended(global);
        let held = self.held();
        if held != self.share.told {
            global.budget.held.replace(self.share.told, held);
            self.share.told = held;
            global.find_level();
        }
    }

    /// What the total contains of this CPU.
    pub fn told(&self) -> Held {
        self.share.told
    }

    /// What its owner may queue without saying so.
    pub fn lent(&self) -> Held {
        self.share.lent
    }

    /// What is queued here or being invoked.
    pub fn held(&self) -> Held {
        let bytes = |sum: u64, bytes| sum.saturating_add(bytes);
        Held {
            count: self.len(),
            bytes: self
                .lists
                .iter()
                .map(crate::common::cblist::CbList::bytes)
                .fold(0, bytes),
        }
    }

    /// Cuts new credit down to what can be lent, and notes it.
    pub(crate) fn lend(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        credit: &mut [Credit; LANES],
    ) {
        self.give_back(global);
        let loan = global.loan(global.budget.borrowers + 1);
        let Budget { look, small, .. } = global.config.budget;
        let mut lent = Held::default();
        for lane in [Lane::Plain, Lane::Code] {
            let (credit, end) = (&mut credit[lane as usize], self.lists[lane as usize].end());
            let reach = queued[lane as usize].reach.max(look);
            let mut count = credit.until.wrapping_sub(end).min(reach);
            if count == 0 {
                continue; // each push is told
            }
            // What it pushes before a look at the bytes may be small, and heavier than its credit.
            let mut bytes = credit.bytes.max(count.min(look) * small);
            if count > look {
                bytes = credit.bytes + look * small;
                if count > loan.count || bytes > loan.bytes {
                    (count, bytes) = (look, credit.bytes.max(look * small));
                    credit.until = end.wrapping_add(look);
                }
            }
            let most = loan.count.min(loan.bytes / small.max(1));
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
        let before = core::mem::replace(&mut self.share.lent, lent);
        global.budget.lent.replace(before, lent);
        global.budget.borrowers += u64::from(lent.count != 0);
        global.budget.borrowers -= u64::from(before.count != 0);
    }
}

#[cfg(test)]
mod tests;

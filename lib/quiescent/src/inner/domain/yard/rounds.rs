//! Yards that the caretaker looks after together, so that they share their fences.
//!
//! A grace period needs a fence, and one more with a reader in the way; so does whoever leaves it to the reader to call. One after the
//! other, a thousand yards with something due at the same time would cost as many thousands. So each is brought as far as it needs a fence,
//! and waits there; one fence is issued for all of them; and each goes on.
//!
//! ```text
//!   what is due is sent on its way ─► rounds ─► what is done is run ─┬─► as long as there is something
//!            run what is done                    reports, tasks      └─► the next ones
//!
//!   a round:  each yard drives, up to a fence or to the end ─► one fence for all that have come to one
//! ```
//!
//! # Invariants
//! * Nothing of the program's (callbacks, reports, wakers) is called during rounds: each yard that has come to a fence has its driver's role
//!   held meanwhile, and others wait for that.
//! * No lock is held at a fence, nor two yards' at any time.
//! * No more than [`TOGETHER`] yards are in hand. A role is held for as long as the others take to come to their fences, which is some
//!   microseconds each, and a few dozen where one spins for a reader: a thousand would hold a role so long that those who wait take it
//!   for lost. And so many fences less are enough: what is left of them is a sixty-fourth.
//! * A yard that others drive, or whose role was taken while it waited for its fence, drops out of the round, as before a fence of its own.
//! * A refused fence is refused to all that asked for it; each is given up by itself.
//!
//! # Edges
//! `[CT-1]` the caretaker says that it is interested, *heavy fence*, then drives once more. A reader ends its section, *light fence*, then
//! looks at the flag, and whether somebody is interested. Either the caretaker finds the count empty, or the reader finds the caretaker.

use std::cell::Cell;

use quiescent_engine::{Interest, Look};

use super::Yard;
use crate::error::SyncError;
use crate::inner::domain::grounds::Held;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::{Drive, Turn};
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim::{self, Ordering, TOGETHER};
use crate::watch::stall::StallReport;

/// After so many passes over the same yards the others have their turn: a callback may queue itself again for ever.
const PASSES: u32 = 64;

/// What the caretaker has to do at a yard: a pass, and another one if there was something to do.
struct Errand {
    yard: &'static Yard,
    /// The domain that has it; it does not do without it meanwhile.
    _held: Option<Held>,
    /// The pass has found something to do.
    busy: bool,
    /// What the grace periods have come to.
    drives: Drives,
    turn: Option<Turn<'static, Yard>>,
    /// The yard's number when the round began: if it has changed, a grace period has ended.
    before: u64,
    /// Which readers were flagged before the fence of `[CT-1]`; `None` before it is asked for.
    flagged: Option<u64>,
    /// To be told when no role is held.
    report: Option<StallReport>,
}

/// How far the driving has come.
enum Drives {
    /// Nothing waits for one.
    NotAtAll,
    /// It needs a fence, or has not begun.
    OnItsWay,
    /// It can go no further: a reader is in the way. Or a grace period has ended.
    Over,
    Failed(SyncError),
}

impl Errand {
    /// What is to be done at this yard. If nothing is, or it is nobody's: when to look again on its account.
    fn at(yard: &'static Yard) -> Result<Errand, Option<u64>> {
        let held = yard.hold_if_lent().ok_or(None)?;
        yard.is_due()?;
        Ok(Errand {
            yard,
            _held: held,
            busy: false,
            drives: Drives::NotAtAll,
            turn: None,
            before: 0,
            flagged: None,
            report: None,
        })
    }

    /// A pass, up to its rounds.
    fn begin_pass(&mut self) {
        self.busy = self.yard.begin_pass();
        self.flagged = None;
        self.drives = match self.yard.waits() {
            true => Drives::OnItsWay,
            false => Drives::NotAtAll,
        };
        if let Drives::NotAtAll = self.drives {
            self.yard.lose_interest(); // somebody else has seen to it
        }
        self.before = self.yard.root_seq().load(Ordering::Acquire);
    }

    /// Drives grace periods as far as they go without waiting for readers, or for a fence: true if it needs one. If a reader is in the way, it
    /// is told to say when it is not. `fenced` is what became of the fence that was asked for, if one was.
    fn drive(&mut self, fenced: Result<(), i32>) -> bool {
        let end = match (&mut self.turn, fenced) {
            (Some(turn), fenced) => turn.drive_fenced(fenced, Interest::Poller),
            (None, Ok(())) => self.help_along(),
            (None, Err(errno)) => Drive::Failed(SyncError::FenceRefused { errno }),
        };
        if end == Drive::Fence {
            return true;
        }
        let turn = self.turn.take();
        match (end, turn) {
            (Drive::Stalled(stalled), Some(mut turn)) => {
                let report = turn.leave_with_report(stalled);
                self.report = self.report.take().or(report);
            }
            (Drive::Failed(error), turn) => {
                turn.into_iter().for_each(|mut turn| turn.leave());
                self.drives = Drives::Failed(error);
                return false;
            }
            (_, turn) => turn.into_iter().for_each(|mut turn| turn.leave()),
        }
        let waits = self.waits_for_reader();
        if !waits {
            self.drives = Drives::Over;
        }
        waits
    }

    /// Drives, if nobody does, until the engine would have the driver wait, or fence.
    fn help_along(&mut self) -> Drive {
        let yard = self.yard;
        let mut core = yard.lock();
        if !core.engine.busy() {
            return Drive::Home;
        }
        let taken = yard.take_role(&mut core, None, Interest::Poller);
        if matches!(taken, Look::At(_)) {
            return Drive::GaveUp; // whoever drives tells us when it leaves
        }
        let turn = self.turn.insert(Turn::begin_apart(yard, core, taken));
        turn.drive(Interest::Poller, None)
    }

    /// The drive is over. True if it has to be done once more, behind a fence, so that the reader that is in the way tells us.
    fn waits_for_reader(&mut self) -> bool {
        if self.yard.root_seq().load(Ordering::Acquire) != self.before {
            self.busy = true;
            return false;
        }
        match self.flagged {
            None => self.yard.take_interest(), // [CT-1]
            // A flag that was set only now may be missed by a reader that ends meanwhile: then once more, behind another fence.
            Some(before) if self.yard.flagged() == before => return false,
            Some(_) => {}
        }
        self.flagged = Some(self.yard.flagged());
        true
    }

    /// The rest of a pass. Nobody's role is held. `Err`: there need not be another one now; when to look again on this yard's account.
    fn end_pass(&mut self) -> Result<(), Option<u64>> {
        self.yard.tell_stall(self.report.take());
        match &self.drives {
            Drives::Failed(error) => {
                self.yard.take_interest(); // it has tried: whoever gets on tells it, and else it is time that does
                let retry = self.yard.give_up(error);
                return Err(self.yard.is_done(retry));
            }
            Drives::NotAtAll => {}
            Drives::OnItsWay | Drives::Over => self.busy |= self.yard.run_done(),
        }
        self.yard.end_pass();
        match self.busy {
            true => Ok(()),
            false => Err(self.yard.is_done(None)),
        }
    }
}

/// Looks at these yards, and does what is due there. When to look again on account of any of them, beside their deadlines.
pub(crate) fn look_after(yards: impl Iterator<Item = &'static Yard>) -> Option<u64> {
    let look_at: Cell<Option<u64>> = Cell::new(None);
    let note = |at: Option<u64>| look_at.set(look_at.get().into_iter().chain(at).min());
    let mut due = yards
        .filter_map(|yard| Errand::at(yard).map_err(note).ok())
        .fuse();
    let mut errands = [const { None }; TOGETHER];
    loop {
        for place in &mut errands {
            *place = due.next();
        }
        if errands[0].is_none() {
            return look_at.get();
        }
        let mut passes = 0;
        while errands.iter().any(Option::is_some) {
            passes += 1;
            errands.iter_mut().flatten().for_each(Errand::begin_pass);
            drive_together(&mut errands);
            for place in &mut errands {
                let left = place.as_mut().map(|errand| match errand.end_pass() {
                    Ok(()) if passes >= PASSES => Err(errand.yard.put_off()),
                    left => left,
                });
                if let Some(Err(at)) = left {
                    note(at);
                    *place = None;
                }
            }
        }
    }
}

/// Rounds: all go as far as they need a fence, until nobody needs one.
fn drive_together(errands: &mut [Option<Errand>]) {
    let mut fenced = Ok(());
    loop {
        let mut needs = 0;
        for errand in errands.iter_mut().flatten() {
            if matches!(errand.drives, Drives::OnItsWay) {
                needs += u64::from(errand.drive(fenced));
            }
        }
        if needs == 0 {
            return;
        }
        fenced = prim::domain().heavy_fence_for(needs); // [GP-1] [GP-2] [CT-1]
    }
}

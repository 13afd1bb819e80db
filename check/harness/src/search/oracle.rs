//! The rules, stated without the engine's internals.
//!
//! The oracle follows grace periods from outside: one starts with the step that starts `gp_seq`, and ends
//! with the step that ends the root's copy. It learns everything else from the readers' own actions.
//!
//! | rule | broken when |
//! |---|---|
//! | a | a grace period ends while a section that was open at its start is still open |
//! | b | a request is satisfied before a full grace period, or not by one |
//! | c | a grace period starts without a request (an expedited one may serve a request for a normal one) |
//! | d | the tree's invariant is violated (`Tree::check`) |
//! | e | a scan finds that an absent CPU is a holdout |
//! | f | a grace period scans readers, and no fence began since it started |

use quiescent_kernel::{FullCookie, Global, Phase, Pos, Seq};

use crate::world::check;

/// How far the first full grace period after a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Taken,
    Started,
    Due,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Ticket(Pos),
    Cookie { full: FullCookie, merged: Seq },
    Expedited(Seq),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Request {
    kind: Kind,
    stage: Stage,
    /// The stage for the merged counter, which is ended a little earlier.
    merged: Stage,
    /// The stage for expedited grace periods, either kind of which may satisfy a cookie.
    exp: Stage,
}

/// Rule a.
fn check_ended(blocking: u32) -> Result<(), String> {
    match blocking {
        0 => Ok(()),
        open => Err(format!(
            "a: a grace period ends, but older sections do not (CPUs, tasks << 16): {open:#b}"
        )),
    }
}

/// The bit of the section of a preempted task.
pub fn of_task(task: usize) -> u32 {
    1 << (16 + task)
}

/// The oracle's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Oracle {
    /// Sections that were open when the grace period in flight started and are still open. The bit of its CPU
    /// stands for a section until its task is preempted, then the task's ([`of_task`]). The CPU's next
    /// section is another one: leaving a section clears its bit for good.
    blocking: u32,
    /// The same for the expedited grace period in flight.
    exp_blocking: u32,
    /// An expedited grace period was requested: it may satisfy a request for a normal one.
    expedited: bool,
    /// Requests that are not yet satisfied.
    requests: Vec<Request>,
    /// The grace period in flight still has to get its first fence.
    fence_owed: bool,
    /// Grace periods started.
    pub started: u8,
}

impl Oracle {
    pub fn section_closed(&mut self, section: u32) {
        self.blocking &= !section;
        self.exp_blocking &= !section;
    }

    /// The section of a CPU belongs to a task from now on.
    pub fn section_moved(&mut self, from: u32, to: u32) {
        for blocking in [&mut self.blocking, &mut self.exp_blocking] {
            if *blocking & from != 0 {
                *blocking = *blocking & !from | to;
            }
        }
    }

    pub fn ticket(&mut self, ticket: Pos) {
        self.push(Kind::Ticket(ticket));
    }

    pub fn cookie(&mut self, full: FullCookie, merged: Seq) {
        self.push(Kind::Cookie { full, merged });
    }

    fn push(&mut self, kind: Kind) {
        self.requests.push(Request {
            kind,
            stage: Stage::Taken,
            merged: Stage::Taken,
            exp: Stage::Taken,
        });
    }

    pub fn fence(&mut self) {
        self.fence_owed = false;
    }

    pub fn all_satisfied(&self) -> bool {
        self.requests.is_empty()
    }

    /// Was a cookie satisfied by an expedited grace period, and by no normal one?
    pub fn served_expedited(&self) -> bool {
        let by_exp = |r: &Request| r.exp == Stage::Due && r.stage != Stage::Due;
        self.requests
            .iter()
            .any(|r| matches!(r.kind, Kind::Cookie { .. }) && by_exp(r))
    }

    /// One step of the engine: the phases before and after it, and the CPUs inside during it.
    pub fn stepped(&mut self, before: Phase, after: Phase, inside: u32) -> Result<(), String> {
        if before == Phase::Idle && after != Phase::Idle {
            let normal = |r: &Request| !matches!(r.kind, Kind::Expedited(_));
            if !self.expedited && !self.requests.iter().any(normal) {
                return Err("c: a grace period starts, and every request is satisfied".into());
            }
            self.fence_owed = true;
            self.blocking = inside;
            self.started += 1;
            for request in &mut self.requests {
                (request.stage, request.merged) = (Stage::Started, Stage::Started);
            }
        }
        if before == Phase::Hotplug(0) && self.fence_owed {
            return Err("f: readers are scanned before the first fence".into());
        }
        if after == Phase::Cleanup(0) {
            check_ended(self.blocking)?;
            self.advance(|r| &mut r.merged);
        }
        if before == Phase::Cleanup(0) {
            check_ended(self.blocking)?;
            self.advance(|r| &mut r.stage);
        }
        Ok(())
    }

    pub fn exp_cookie(&mut self, cookie: Seq) {
        self.push(Kind::Expedited(cookie));
    }

    /// An expedited grace period begins, with these sections open.
    pub fn exp_begun(&mut self, inside: u32) -> Result<(), String> {
        let expedited = |r: &Request| matches!(r.kind, Kind::Expedited(_));
        if !self.requests.iter().any(expedited) {
            return Err("c: an expedited grace period begins without a request".into());
        }
        self.expedited = true;
        self.exp_blocking = inside;
        for request in &mut self.requests {
            request.exp = Stage::Started;
        }
        Ok(())
    }

    /// The expedited grace period ends.
    pub fn exp_ended(&mut self) -> Result<(), String> {
        check_ended(self.exp_blocking)?;
        self.advance(|r| &mut r.exp);
        Ok(())
    }

    fn advance(&mut self, stage: impl Fn(&mut Request) -> &mut Stage) {
        for request in &mut self.requests {
            let stage = stage(request);
            if *stage == Stage::Started {
                *stage = Stage::Due;
            }
        }
    }

    /// Checks rules b, d and e, and drops satisfied requests. True if a cookie was found satisfied.
    pub fn look(&mut self, engine: &Global) -> Result<bool, String> {
        check(engine);
        if engine.counts().offline_holdouts != 0 {
            return Err("e: an absent CPU was a holdout".into());
        }
        let idle = engine.phase() == Phase::Idle;
        let mut failed = None;
        let mut cookie_done = false;
        self.requests.retain(|request| {
            let due = request.stage == Stage::Due;
            let (done, late, early) = match &request.kind {
                Kind::Ticket(ticket) => {
                    let done = *ticket < engine.waiters().done();
                    // Late only if no marker was free; then another grace period is requested.
                    (done, idle && due && !done && !engine.busy(), done && !due)
                }
                Kind::Cookie { full, merged } => {
                    let done = engine.poll(*full);
                    let by_exp = request.exp == Stage::Due;
                    let merged_due = request.merged == Stage::Due || by_exp;
                    let merged_done = engine.polled().poll(*merged);
                    // The merged counter may miss grace periods that overlap.
                    let merged_wrong = merged_done != merged_due && !(self.expedited && merged_due);
                    let due = due || by_exp;
                    cookie_done |= done;
                    (done, due && !done, (done && !due) || merged_wrong)
                }
                Kind::Expedited(cookie) => {
                    let done = engine.exp_done(*cookie);
                    let due = request.exp == Stage::Due;
                    (done, due && !done, done && !due)
                }
            };
            if late || early {
                failed = Some(format!("b: late {late}, early {early}: {request:?}"));
            }
            !done
        });
        failed.map_or(Ok(cookie_done), Err)
    }
}

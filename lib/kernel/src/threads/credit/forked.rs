//! A queue in the child of a fork.

use super::Queued;
use crate::common::cpu::{Cpu, LANES, Lane};
use crate::common::global::Global;
use crate::common::host::Now;
use crate::common::parts::threads::Deferring;

impl Cpu {
    /// In the child of a fork. The queue has no owner any more; `queued` is what had been queued and consumed
    /// at the fork. Entries that were out belong to another process. Without `run_code` the callbacks that
    /// run code of the program are forgotten: the parent has them too, and runs them. Returns the number of
    /// callbacks that this process will not run.
    ///
    /// The rest waits as in any queue without an owner: it has a deadline, but no timer is set for it before
    /// a caller in this process needs the worker.
    pub fn forked(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        run_code: bool,
        now: Now,
    ) -> u64 {
        self.account(global, queued, now.ns);
        let mut dropped = 0;
        for (list, lane) in self.lists.iter_mut().zip(Lane::ALL) {
            let out = list.forked();
            if lane != Lane::Plain {
                dropped += out;
                dropped += if run_code { 0 } else { list.abandon() };
            }
        }
        let Cpu {
            lists: _, // above
            barrier,
            credit,
            turn,
            share: _, // `account`, `give_back`
            // Kept: what it knows of grace periods, which continue; what hosts with threads do not use.
            id: _,
            gp_seq: _,
            gp_seq_needed: _,
            gpwrap: _,
            qs: _,
            offloaded: _,
            offload: _,
            idle: _,
            batch: _,
        } = self;
        barrier.forked();
        turn.forked();
        let Deferring {
            deadline: _, // below
            prompt,
            tight,
            owner_runs,
            // Kept: positions and times, which go on; a setting.
            hurried: _,
            looked: _,
            drained: _,
        } = credit;
        *owner_runs = false;
        *tight = true;
        if !run_code {
            *prompt = None; // only code is prompt
        }
        self.credit.deadline = self.next_deadline(global, now.ns);
        self.settle();
        self.give_back(global);
        self.tell(global);
        dropped
    }
}

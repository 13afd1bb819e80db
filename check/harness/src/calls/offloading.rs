//! The calls about offloading. A call of a CPU uses its group, which [`OffloadInput::Choose`] has made.

use std::collections::BTreeMap;

use super::{OffloadInput, Output, World};
use quiescent_kernel::cpu::Cpu;
use quiescent_kernel::host::{CpuId, Host};
use quiescent_kernel::offload::{Group, GroupId, Shrink, group_of, stride};

fn group_mut(groups: &mut BTreeMap<GroupId, Group>, group: GroupId) -> &mut Group {
    groups.get_mut(&group).expect("some member was chosen")
}

/// The parts of a world that a call takes, as separate borrows.
macro_rules! split {
    ($world:ident, $cpu:ident => $own:ident, $group:ident) => {
        let $own = $world.cpus.get_mut(&$cpu).expect("it was chosen at boot");
        let id = $own.member().group().expect("it was chosen at boot");
        let $group = group_mut(&mut $world.groups, id);
    };
}

impl World {
    /// # Panics
    /// If a call is about a CPU that was never chosen.
    pub(super) fn apply_offload(&mut self, input: OffloadInput, host: &impl Host) -> Output {
        match input {
            OffloadInput::AsyncHurry => {
                self.global.async_hurry();
                Output::Done(true)
            }
            OffloadInput::AsyncRelax => {
                self.global.async_relax();
                Output::Done(true)
            }
            OffloadInput::Choose { cpu, cpus } => {
                let stride = stride(cpus, self.global.config().offload.stride);
                let id = group_of(cpu, stride);
                let groups = self.groups.entry(id);
                let group = groups.or_insert_with(|| Group::new(id, stride));
                let chosen = self.cpus.entry(cpu).or_insert_with(|| Cpu::new(cpu));
                chosen.choose(group);
                Output::Done(true)
            }
            OffloadInput::BeginPass { .. }
            | OffloadInput::NextMember { .. }
            | OffloadInput::EndPass { .. }
            | OffloadInput::GoesOn { .. }
            | OffloadInput::TimerFired { .. } => self.apply_to_group(input, host),
            OffloadInput::TakeOver { cpu, gone, tick } => self.take_over(cpu, gone, tick, host),
            input => self.apply_to_member(input, host),
        }
    }

    fn apply_to_group(&mut self, input: OffloadInput, host: &impl Host) -> Output {
        let (groups, global) = (&mut self.groups, &self.global);
        match input {
            OffloadInput::BeginPass { group, tick } => {
                Output::Timer(group_mut(groups, group).begin_pass(tick, global, host))
            }
            OffloadInput::NextMember { group } => {
                Output::Member(group_mut(groups, group).next_member())
            }
            OffloadInput::EndPass { group, tick } => {
                Output::Rested(group_mut(groups, group).end_pass(tick, global, host))
            }
            OffloadInput::GoesOn { group } => {
                Output::Done(group_mut(groups, group).goes_on(global))
            }
            OffloadInput::TimerFired { group, tick } => {
                Output::Todo(group_mut(groups, group).timer_fired(tick, host))
            }
            _ => Output::Elsewhere, // all other inputs are matched before
        }
    }

    fn apply_to_member(&mut self, input: OffloadInput, host: &impl Host) -> Output {
        match input {
            OffloadInput::Offload { cpu, online } => {
                split!(self, cpu => own, group);
                Output::Toggled(own.offload(online, group, &self.global, host))
            }
            OffloadInput::Deoffload { cpu, online, tick } => {
                split!(self, cpu => own, group);
                Output::Toggled(own.deoffload(online, tick, group, &mut self.global, host))
            }
            OffloadInput::CallNocb { cpu, call } => {
                split!(self, cpu => own, group);
                Output::Queued(own.call_nocb(call, group, &mut self.global, host))
            }
            OffloadInput::Visit { cpu, tick } => {
                split!(self, cpu => own, group);
                Output::Visited(own.visit(tick, group, &mut self.global, host))
            }
            OffloadInput::BatchOver { cpu, context } => {
                split!(self, cpu => own, _group);
                Output::AfterBatch(own.batch_over(context, &mut self.global, host))
            }
            OffloadInput::RcuopWoke { cpu } => {
                split!(self, cpu => own, _group);
                Output::Done(own.rcuop_woke(host))
            }
            OffloadInput::EntrainNocb { cpu, tick } => {
                split!(self, cpu => own, group);
                let barrier = &mut self.barrier;
                Output::Entrained(own.entrain_nocb(tick, barrier, group, &self.global, host))
            }
            OffloadInput::Shrink { cpu, tick } => {
                split!(self, cpu => own, group);
                let mut scan = Shrink::new(1);
                Output::Flushed(scan.visit(own, tick, group, &self.global, host))
            }
            OffloadInput::Deliver { cpu } => {
                split!(self, cpu => own, group);
                Output::Todo(group.deliver(own.id(), host))
            }
            _ => Output::Elsewhere, // all other inputs are matched before
        }
    }

    /// `cpu` takes over the callbacks of `gone`, which is another CPU.
    fn take_over(&mut self, cpu: CpuId, gone: CpuId, tick: u64, host: &impl Host) -> Output {
        let mut source = self.cpus.remove(&gone).unwrap_or_else(|| Cpu::new(gone));
        split!(self, cpu => own, group);
        let (barrier, global) = (&mut self.barrier, &mut self.global);
        let taken = own.take_over(&mut source, tick, barrier, group, global, host);
        self.cpus.insert(gone, source);
        Output::TakenOver(taken)
    }
}

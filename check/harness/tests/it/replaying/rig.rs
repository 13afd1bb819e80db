//! A host with callbacks that records everything, in a random order.
//!
//! The rig makes every call by its method, on parts that it keeps separately as a host does, and records the
//! input and the output. Only the replay uses [`World::apply`].

use quiescent_harness::host::{Silent, TestHost};
use quiescent_harness::replay::{BarrierInput, CpuInput, Entry, Input, Output, Recording, World};
use quiescent_kernel::barrier::{Barrier, Begin};
use quiescent_kernel::limits::{Context, Limits};
use quiescent_kernel::{Config, Cpu, CpuId, Global, Pos, Seq};

use super::Lcg;

const CPUS: usize = 4;

/// Small numbers, so that batches fill up and floods occur.
pub fn config() -> Config {
    let limits = Limits {
        blimit: 2,
        qhimark: 5,
        qlowmark: 1,
        ..Limits::kernel_6_12()
    };
    Config {
        limits,
        ..Config::kernel_6_12(CPUS as u32, 1000)
    }
}

pub struct Rig {
    random: Lcg,
    host: TestHost,
    inside: [bool; CPUS],
    cpus: Vec<Cpu>,
    barrier: Barrier,
    snaps: Vec<Seq>,
    /// Shares of the barrier that end, at a random time, when its entrained callbacks are invoked.
    entrained: u32,
    ns: u64,
    pub entries: Vec<Entry>,
}

impl Rig {
    pub fn new(seed: u64) -> Rig {
        let host = TestHost::kernel_with(CPUS as u32, config());
        Rig {
            random: Lcg(seed),
            host,
            inside: [false; CPUS],
            cpus: (0..CPUS as CpuId).map(Cpu::new).collect(),
            barrier: Barrier::new(),
            snaps: Vec::new(),
            entrained: 0,
            ns: 1,
            entries: Vec::new(),
        }
    }

    /// So many random actions.
    pub fn run(mut self, deeds: u32) -> Rig {
        for _ in 0..deeds {
            match self.random.below(8) {
                0..=3 => self.grace_period(),
                4 => self.start_barrier(),
                _ => self.kernel(),
            }
        }
        self
    }

    /// A copy of the engine's whole state.
    pub fn world(&self) -> World {
        World {
            global: self.host.engine().clone(),
            cpus: self
                .cpus
                .iter()
                .map(|cpu| (cpu.id(), cpu.clone()))
                .collect(),
            barrier: self.barrier.clone(),
            groups: Default::default(),
        }
    }

    fn write(&mut self, input: Input, output: Output) {
        self.entries.push(Entry {
            input,
            answers: Vec::new(),
            output,
        });
    }

    /// Makes a call of a CPU and records it.
    fn on<T>(
        &mut self,
        at: usize,
        input: CpuInput,
        call: impl FnOnce(&mut Cpu, &mut Global, &mut Barrier, &Recording<'_, Silent>) -> T,
        output: impl FnOnce(&T) -> Output,
    ) -> T {
        let host = Recording::new(&Silent);
        let engine = self.host.engine_mut();
        let result = call(&mut self.cpus[at], engine, &mut self.barrier, &host);
        assert!(host.answers().is_empty());
        self.write(Input::Cpu(at as CpuId, input), output(&result));
        result
    }

    fn below(&mut self, n: u32) -> u64 {
        u64::from(self.random.below(n))
    }

    fn now_ns(&mut self) -> u64 {
        self.ns += self.below(30_000_000);
        self.ns
    }

    /// Readers, waiters and a driver: by the test host, which records its calls itself.
    fn grace_period(&mut self) {
        self.host.record();
        let cpu = self.random.below(CPUS as u32);
        let inside = &mut self.inside[cpu as usize];
        match self.random.below(8) {
            0 if !*inside => {
                self.host.enter(cpu);
                *inside = true;
            }
            1..=3 if *inside => {
                self.host.exit(cpu);
                *inside = false;
            }
            4 => drop(self.host.wait_for_gp(cpu)),
            _ => drop(self.host.help(3)),
        }
        let recording = self.host.recording().expect("it was switched on");
        self.entries.extend_from_slice(recording);
    }

    fn kernel(&mut self) {
        let at = self.random.below(CPUS as u32) as usize;
        let noticed = |noticed: &_| Output::Noticed(*noticed);
        let done = |done: &bool| Output::Done(*done);
        match self.random.below(10) {
            0..=3 => {
                let (bytes, ns) = (self.below(99), self.now_ns());
                let _ = self.on(
                    at,
                    CpuInput::Call { bytes, ns },
                    |cpu, global, _, host| cpu.call(global, bytes, ns, host),
                    |called| Output::Called(*called),
                );
            }
            4 => {
                let input = CpuInput::NoteGpChanges;
                let _ = self.on(at, input, |cpu, g, _, h| cpu.note_gp_changes(g, h), noticed);
            }
            5 => {
                let _ = self.on(at, CpuInput::Core, |cpu, g, _, h| cpu.core(g, h), noticed);
                let input = CpuInput::CorePending;
                self.on(at, input, |cpu, g, _, _| cpu.core_pending(g), done);
            }
            6 => {
                let input = CpuInput::StampUnlocked;
                self.on(at, input, |cpu, g, _, h| cpu.stamp_unlocked(g, h), done);
                self.on(at, CpuInput::Stamp, |cpu, g, _, h| cpu.stamp(g, h), done);
            }
            7 => self.on(
                at,
                CpuInput::Credited,
                |cpu, global, _, _| cpu.credited(global),
                |()| Output::Done(true),
            ),
            8 => self.adopt(at),
            _ => self.batch(at),
        }
        if self.entrained > 0 && self.random.below(3) == 0 {
            self.entrained -= 1;
            self.share_done();
        }
    }

    fn batch(&mut self, at: usize) {
        let context = [Context::Softirq, Context::Rcuc, Context::Rcuop];
        let context = context[self.random.below(3) as usize];
        let begun = self.on(
            at,
            CpuInput::BeginBatch { context },
            |cpu, global, _, _| cpu.begin_batch(global, context),
            |begun| {
                let flat = |(out, batch): &(std::ops::Range<Pos>, _)| (out.start, out.end, *batch);
                Output::Batch(begun.as_ref().map(flat))
            },
        );
        if let Some((out, _)) = begun {
            let all = out.end.wrapping_sub(out.start);
            let invoked = all - self.below(3).min(all);
            let (start, end) = (out.start, out.end);
            self.on(
                at,
                CpuInput::EndBatch {
                    start,
                    end,
                    invoked,
                },
                |cpu, global, _, _| cpu.end_batch(global, start..end, invoked),
                |more| Output::Done(*more),
            );
        }
    }

    fn adopt(&mut self, at: usize) {
        let gone = (at + 1) % CPUS;
        let mut source = self.cpus[gone].clone();
        let adopted = self.on(
            at,
            CpuInput::Adopt {
                gone: gone as CpuId,
            },
            |cpu, global, barrier, host| cpu.adopt(&mut source, barrier, global, host),
            |adopted| Output::Adopted(*adopted),
        );
        self.cpus[gone] = source;
        self.entrained += u32::from(adopted.entrained);
    }

    // The barrier.

    fn start_barrier(&mut self) {
        if self.snaps.len() < 3 {
            let snap = self.barrier.snap();
            self.write(Input::Barrier(BarrierInput::Snap), Output::Seq(snap));
            self.snaps.push(snap);
        }
        if self.barrier.in_flight() {
            return;
        }
        let snap = self.snaps.remove(0);
        let begin = self.barrier.start(snap);
        let input = Input::Barrier(BarrierInput::Start { snap });
        self.write(input, Output::Begin(begin));
        if begin == Begin::Covered {
            return;
        }
        for at in 0..CPUS {
            let output = |visit: &_| Output::Visit(*visit);
            let input = CpuInput::EntrainBarrier;
            let visit = self.on(at, input, |cpu, _, b, _| cpu.entrain_barrier(b), output);
            self.entrained += u32::from(visit == quiescent_kernel::barrier::Visit::Noted);
        }
        let complete = self.barrier.visited_all();
        let input = Input::Barrier(BarrierInput::VisitedAll);
        self.write(input, Output::Done(complete));
        self.end_barrier(complete);
    }

    fn share_done(&mut self) {
        let complete = self.barrier.one_done();
        let input = Input::Barrier(BarrierInput::OneDone);
        self.write(input, Output::Done(complete));
        self.end_barrier(complete);
    }

    fn end_barrier(&mut self, complete: bool) {
        if complete {
            self.barrier.end();
            self.write(Input::Barrier(BarrierInput::End), Output::Done(true));
        }
    }
}

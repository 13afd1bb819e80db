//! A small machine with offload threads. All CPUs are offloaded unless the test chooses otherwise.

use quiescent_harness::host::{OgStep, TestHost};
use quiescent_kernel::limits::{Context, Limits};
use quiescent_kernel::offload::{Offload, Policy, Queued};
use quiescent_kernel::{Config, Cpu, CpuId, EarlyQs, Phase};

pub const HZ: u32 = 1000;
/// The flush time, in ticks.
pub const FLUSH: u64 = 10_000;
/// A small mark, so that a flood needs few callbacks.
pub const QHIMARK: u64 = 50;
/// Callbacks that may be queued directly in one tick.
pub const LIMIT: u64 = 16;

pub const BOTH: [Policy; 2] = [Policy::Kernel612, Policy::Quiescent];

pub struct Bench {
    pub host: TestHost,
    pub cpus: u32,
}

impl Bench {
    /// So many CPUs, booted, between grace periods, with all threads at rest.
    pub fn new(cpus: u32, policy: Policy) -> Bench {
        Bench::with(cpus, Bench::tunables(policy))
    }

    pub fn tunables(policy: Policy) -> Offload {
        match policy {
            Policy::Kernel612 => Offload::kernel_6_12(HZ),
            Policy::Quiescent => Offload::quiescent(HZ),
        }
    }

    pub fn with(cpus: u32, offload: Offload) -> Bench {
        let config = Config {
            offload,
            early_qs: EarlyQs::Init,
            limits: Limits {
                qhimark: QHIMARK,
                ..Limits::kernel_6_12()
            },
            ..Config::kernel_6_12(cpus, HZ)
        };
        let mut host = TestHost::kernel_with(cpus, config);
        assert!(host.try_drive(0));
        for cpu in 0..cpus {
            host.choose(cpu);
        }
        host.engine_mut().async_relax();
        let _ = host.wait_for_gp(0);
        let mut bench = Bench { host, cpus };
        bench.grace_period();
        bench.host.take_trace();
        bench
    }

    pub fn cpu(&self, cpu: CpuId) -> &Cpu {
        self.host.cpu(cpu).expect("it was chosen")
    }

    /// The number of callbacks in the list: DONE, and waiting or unstamped.
    pub fn list(&self, cpu: CpuId) -> (u64, u64) {
        let list = self.cpu(cpu).list();
        (list.ready(), list.end().wrapping_sub(list.done_end()))
    }

    pub fn bypass(&self, cpu: CpuId) -> u64 {
        self.cpu(cpu).member().bypass()
    }

    pub fn lazy(&self, cpu: CpuId) -> u64 {
        self.cpu(cpu).member().lazy()
    }

    pub fn now(&self) -> u64 {
        self.host.now().jiffies
    }

    // Actions.

    /// `call_rcu_hurry`, from a context that can wake threads.
    pub fn call(&mut self, cpu: CpuId) -> Queued {
        self.host.call_nocb(cpu, false, true)
    }

    /// `call_rcu`.
    pub fn call_lazy(&mut self, cpu: CpuId) -> Queued {
        self.host.call_nocb(cpu, true, true)
    }

    /// Runs a group's thread until it rests. Returns the number of passes, and the flushed CPUs.
    pub fn rcuog(&mut self, group: u32) -> (u32, Vec<(CpuId, u64)>) {
        let (mut passes, mut flushed) = (0, Vec::new());
        loop {
            match self.host.step_rcuog(group) {
                OgStep::Rests => return (passes, flushed),
                OgStep::Begins => passes += 1,
                OgStep::Visits(cpu, visited) if visited.flushed > 0 => {
                    flushed.push((cpu, visited.flushed));
                }
                OgStep::Visits(..) | OgStep::Ends(_) => {}
            }
        }
    }

    /// Runs a batch in some context; returns the number of callbacks invoked.
    pub fn batch(&mut self, cpu: CpuId, context: Context) -> u64 {
        self.batches(cpu, context, 1)
    }

    /// Runs batches one after the other, at most so many callbacks.
    fn batches(&mut self, cpu: CpuId, context: Context, most: u32) -> u64 {
        let mut invoked = 0;
        for _ in 0..most {
            let (n, again) = self.batch_once(cpu, context);
            invoked += n;
            if !again {
                break;
            }
        }
        invoked
    }

    fn batch_once(&mut self, cpu: CpuId, context: Context) -> (u64, bool) {
        let invoked = match self.host.begin_batch(cpu, context) {
            Some((start, end)) => {
                self.host.end_batch(cpu, (start, end));
                end.wrapping_sub(start)
            }
            None => 0,
        };
        (invoked, self.host.batch_over(cpu, context).again)
    }

    /// Runs the rcuops that were woken until they sleep; returns the number of callbacks that each CPU's has
    /// invoked.
    pub fn rcuops(&mut self) -> Vec<u64> {
        let cpus = self.cpus;
        let run = |cpu| match self.host.take_rcuop(cpu) {
            true => self.batches(cpu, Context::Rcuop, 100),
            false => 0,
        };
        (0..cpus).map(run).collect()
    }

    /// Requested grace periods start and end; offload threads do not run.
    pub fn grace_period(&mut self) {
        for _ in 0..100 {
            self.host.run_thread();
            if self.host.engine().phase() == Phase::Idle {
                return;
            }
            self.host.pass_jiffies(1);
        }
        panic!("a grace period does not end");
    }

    /// So many ticks, in which all threads do what they have to. Returns the number of callbacks that each
    /// CPU's rcuop has invoked.
    pub fn ticks(&mut self, ticks: u64) -> Vec<u64> {
        let mut invoked = vec![0; self.cpus as usize];
        for _ in 0..ticks {
            self.host.pass_jiffies(1);
            self.host.fire_timers();
            self.host.run_thread();
            for group in 0..self.groups() {
                self.rcuog(group);
            }
            for (sum, n) in invoked.iter_mut().zip(self.rcuops()) {
                *sum += n;
            }
        }
        invoked
    }

    pub fn groups(&self) -> u32 {
        self.host.world().groups.len() as u32
    }

    /// The trace since the last call: CPU and reason of each `rcu_nocb_wake`, the last word of each other
    /// event.
    pub fn trace(&mut self) -> Vec<String> {
        let lines = self.host.take_trace();
        let short = |line: &String| {
            let words: Vec<&str> = line.split(' ').collect();
            match *words.first()? {
                "rcu_nocb_wake:" => Some(format!("{} {}", words[2], words[3])),
                "rcu_future_grace_period:" | "rcu_grace_period:" => {
                    words.last().map(ToString::to_string)
                }
                _ => None,
            }
        };
        lines.iter().filter_map(short).collect()
    }
}

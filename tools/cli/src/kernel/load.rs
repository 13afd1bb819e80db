//! The load of the CPUs during a measurement, from `/proc/stat`.
//!
//! A busy CPU takes ticks, and the running ticks determine which CPU handles the timer of the grace-period
//! thread. So a prediction for an idle machine does not apply to a busy one. `/proc/stat` has the idle time
//! of each CPU (in hundredths of a second) and the number of task switches of the machine; both are read
//! before and after.

use quiescent_live::files::Root;

/// CPUs with a smaller busy share are idle: the caller and RCU's own threads use a little time.
const IDLE: f64 = 0.05;
/// A CPU with a larger busy share is always busy.
pub(super) const ALWAYS: f64 = 0.95;

/// The contents of `/proc/stat` at one time.
#[derive(Debug, Clone, Default, PartialEq)]
struct Sample {
    /// CPU, idle time, all time.
    cpus: Vec<(u32, u64, u64)>,
    switches: u64,
}

/// A measurement of the load.
#[derive(Debug)]
pub struct Watch<'a> {
    root: &'a Root,
    thread: Option<u32>,
    before: Option<Sample>,
    own: u64,
    begin: std::time::Instant,
}

/// The load during a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Each CPU with the share of time in which it was not idle.
    pub busy: Vec<(u32, f64)>,
    /// About how many times a second a task other than the caller and the grace-period thread began to run.
    pub wakeups_per_s: f64,
}

impl Load {
    /// Was the measurement the only load?
    pub fn idle(&self) -> bool {
        self.busy.iter().all(|it| it.1 < IDLE)
    }

    /// Was every CPU busy all the time?
    pub fn full(&self) -> bool {
        self.busy.iter().all(|it| it.1 > ALWAYS)
    }
}

impl<'a> Watch<'a> {
    /// Begins; `thread` is the number of the grace-period thread.
    pub fn begin(root: &'a Root, thread: Option<u32>) -> Self {
        Watch {
            root,
            thread,
            before: sample(root),
            own: own_switches(root, thread),
            begin: std::time::Instant::now(),
        }
    }

    /// Ends; none if the file cannot be read, or too little time has passed.
    pub fn end(self) -> Option<Load> {
        let seconds = self.begin.elapsed().as_secs_f64();
        let own = own_switches(self.root, self.thread).saturating_sub(self.own);
        load(&self.before?, &sample(self.root)?, own, seconds)
    }
}

fn load(before: &Sample, after: &Sample, own: u64, seconds: f64) -> Option<Load> {
    let mut busy = Vec::new();
    for (cpu, idle, all) in &after.cpus {
        let (_, idle_before, all_before) = before.cpus.iter().find(|it| it.0 == *cpu)?;
        let all = all.saturating_sub(*all_before);
        if all < 20 {
            return None; // a fifth of a second: a hundredth more or less would be five percent
        }
        let idle = idle.saturating_sub(*idle_before).min(all);
        busy.push((*cpu, 1.0 - idle as f64 / all as f64));
    }
    // Each sleep of these two threads is a switch from the thread and one to it.
    let switches = after.switches.saturating_sub(before.switches);
    let others = switches.saturating_sub(2 * own);
    Some(Load {
        busy,
        wakeups_per_s: others as f64 / 2.0 / seconds.max(1e-9),
    })
}

fn sample(root: &Root) -> Option<Sample> {
    parse(&root.text("/proc/stat")?)
}

fn parse(text: &str) -> Option<Sample> {
    let mut sample = Sample::default();
    for line in text.lines() {
        let (name, rest) = line.split_once(' ')?;
        if let Some(cpu) = name.strip_prefix("cpu").filter(|it| !it.is_empty()) {
            let times: Option<Vec<u64>> = rest
                .split_ascii_whitespace()
                .take(8) // user, nice, system, idle, iowait, irq, softirq, steal; guests' are in user
                .map(|it| it.parse().ok())
                .collect();
            let times = times.filter(|it| it.len() >= 5)?;
            let idle = times[3] + times[4];
            sample
                .cpus
                .push((cpu.parse().ok()?, idle, times.iter().sum()));
        } else if name == "ctxt" {
            sample.switches = rest.trim().parse().ok()?;
        }
    }
    (!sample.cpus.is_empty()).then_some(sample)
}

/// How often the calling thread and the grace-period thread have slept.
fn own_switches(root: &Root, thread: Option<u32>) -> u64 {
    let slept = |file: &str| {
        let text = root.text(file)?;
        let line = text
            .lines()
            .find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    let thread = thread.and_then(|pid| slept(&format!("/proc/{pid}/status")));
    slept("/proc/thread-self/status").unwrap_or(0) + thread.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 0 50 800 50 0 0 0 0 0\n\
                          cpu3 0 0 0 1000 0 0 0 0 0 0\nintr 9 0 0\nctxt 5000\n";
    const AFTER: &str = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 150 0 75 815 60 0 0 0 0 0\n\
                         cpu3 1 0 0 1099 0 0 0 0 0 0\nintr 9 0 0\nctxt 7000\n";

    #[test]
    fn the_share_of_each_cpu_and_the_switches_of_others() {
        let (before, after) = (parse(BEFORE).unwrap(), parse(AFTER).unwrap());
        let load = load(&before, &after, 400, 1.0).unwrap();
        assert_eq!(load.busy.len(), 2);
        assert_eq!((load.busy[0].0, load.busy[1].0), (0, 3));
        assert!((load.busy[0].1 - 0.75).abs() < 1e-9 && load.busy[1].1 < 0.02);
        assert_eq!(load.wakeups_per_s, 600.0);
        assert!(!load.idle());
    }

    #[test]
    fn nothing_is_said_after_no_time_or_about_nonsense() {
        let before = parse(BEFORE).unwrap();
        assert_eq!(load(&before, &before, 0, 0.0), None);
        for text in ["", "cpu0 1 2\n", "cpu0 a b c d e\n", "intr 1\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

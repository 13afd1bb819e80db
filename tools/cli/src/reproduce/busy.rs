//! Was the machine busy with something else? Then times are too long, and which of two is longer is chance.

use quiescent_report::rows::host::first_line;
use quiescent_report::text::number::short;

/// A machine with more tasks that want to run, when a run begins, is busy.
const LOAD: f64 = 1.0;
/// The same of the share of its processors' time that other machines of its host had, in per cent.
const STOLEN_PCT: f64 = 1.0;
/// And that other programs had: the load is an average of a minute, which does not show what has just begun.
const OTHERS_PCT: f64 = 10.0;

/// What the machine did when a run began.
pub struct Before {
    load: Option<f64>,
    ticks: Option<Ticks>,
}

/// Processors' time since boot: all, what was stolen, and what other programs had.
type Ticks = [u64; 3];

impl Before {
    /// Now.
    pub fn now() -> Before {
        let load = first_line("/proc/loadavg");
        let load = load.and_then(|it| it.split(' ').next()?.parse().ok());
        let ticks = ticks();
        Before { load, ticks }
    }

    /// The warning at the end of the run, with the figures.
    pub fn warning(&self) -> Option<String> {
        warning(self.load, self.ticks.zip(ticks()))
    }
}

fn ticks() -> Option<Ticks> {
    ticks_of(&first_line("/proc/stat")?, &first_line("/proc/self/stat")?)
}

/// `all`: `cpu  user nice system idle iowait irq softirq steal guest guest_nice`; guests are in the first
/// two. `own`: behind the name and eleven others, the user and system time of this program, and those of its
/// children that have ended.
fn ticks_of(all: &str, own: &str) -> Option<Ticks> {
    let numbers = |line: &str, from, count| {
        let numbers = line.split_whitespace().skip(from).take(count);
        let numbers: Result<Vec<u64>, _> = numbers.map(str::parse).collect();
        numbers.ok().filter(|it| it.len() == count)
    };
    let all = numbers(all, 1, 8)?;
    let own = numbers(own.rsplit_once(") ")?.1, 11, 4)?;
    let programs: u64 = all[..3].iter().sum();
    let others = programs.saturating_sub(own.iter().sum());
    Some([all.iter().sum(), all[7], others])
}

fn warning(load: Option<f64>, ticks: Option<(Ticks, Ticks)>) -> Option<String> {
    let load = load.filter(|it| *it > LOAD);
    let load = load.map(|it| format!("load {} when it began (a quiet one has {LOAD})", short(it)));
    let share = |which: usize, most, whose| {
        let (before, after) = ticks?;
        let spent = |which: usize| after[which].saturating_sub(before[which]) as f64;
        let share = 100.0 * spent(which) / spent(0).max(1.0);
        (share > most).then(|| format!("{} % of its time {whose}", short(share)))
    };
    let stolen = share(1, STOLEN_PCT, "was stolen by its host");
    let others = share(2, OTHERS_PCT, "went to other programs");
    let said: Vec<String> = [load, stolen, others].into_iter().flatten().collect();
    (!said.is_empty()).then(|| {
        format!(
            "warning: the machine was busy: {}. Times are too long, and comparisons doubtful: run it again \
             when it is quiet.",
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_said_with_its_figures() {
        let after = |after| Some(([100, 5, 40], after));
        assert_eq!(warning(Some(1.0), after([200, 6, 50])), None);
        assert_eq!(warning(None, None), None);
        let said = warning(Some(8.5), after([200, 8, 40])).unwrap();
        assert!(said.contains("load 8.50 when it began"), "{said}");
        assert!(said.contains("3.00 % of its time was stolen"), "{said}");
        let said = warning(Some(0.2), after([200, 8, 40])).unwrap();
        assert!(!said.contains("load") && said.contains("stolen"), "{said}");
        let said = warning(Some(0.2), after([200, 5, 95])).unwrap();
        assert!(
            said.contains("busy: 55.0 % of its time went to other programs."),
            "{said}"
        );
    }

    #[test]
    fn what_this_program_does_is_not_what_others_do() {
        let own = "7 (a) b) R 1 1 1 0 -1 4194560 100 0 0 0 30 20 7 3 20 0 1 0 5";
        let ticks = ticks_of("cpu  100 10 50 800 40 5 6 9 3 0", own);
        assert_eq!(ticks, Some([1020, 9, 100]));
        assert_eq!(ticks_of("cpu  100 10 50", own), None);
        assert_eq!(ticks_of("cpu  100 10 50 800 40 5 6 9", "7 (a) R 1"), None);
    }

    #[test]
    fn this_machine_tells() {
        let before = Before::now();
        assert!(before.load.is_some() && before.ticks.is_some());
    }
}

//! Was the machine busy with something else? Then times are too long, and which of two is longer is chance.

use quiescent_report::rows::host::first_line;
use quiescent_report::text::number::short;

/// A machine with more tasks that want to run, when a run begins, is busy.
const LOAD: f64 = 1.0;
/// The same of the share of its processors' time that other machines of its host had, in per cent.
const STOLEN_PCT: f64 = 1.0;

/// What the machine did when a run began.
pub struct Before {
    load: Option<f64>,
    ticks: Option<Ticks>,
}

/// Processors' time since boot: all, and what was stolen.
type Ticks = (u64, u64);

impl Before {
    /// Now.
    pub fn now() -> Before {
        let load = first_line("/proc/loadavg");
        let load = load.and_then(|it| it.split(' ').next()?.parse().ok());
        Before {
            load,
            ticks: ticks(),
        }
    }

    /// The warning at the end of the run, with the figures.
    pub fn warning(&self) -> Option<String> {
        warning(self.load, self.ticks.zip(ticks()))
    }
}

/// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`; guests are in the first two.
fn ticks() -> Option<Ticks> {
    let line = first_line("/proc/stat")?;
    let ticks = line.split_whitespace().skip(1).take(8);
    let ticks: Result<Vec<u64>, _> = ticks.map(str::parse).collect();
    let ticks = ticks.ok().filter(|it| it.len() == 8)?;
    Some((ticks.iter().sum(), ticks[7]))
}

fn warning(load: Option<f64>, ticks: Option<(Ticks, Ticks)>) -> Option<String> {
    let load = load.filter(|it| *it > LOAD);
    let load = load.map(|it| format!("load {} when it began (a quiet one has {LOAD})", short(it)));
    let stolen = ticks.map(|(before, after)| {
        let all = after.0.saturating_sub(before.0).max(1) as f64;
        100.0 * after.1.saturating_sub(before.1) as f64 / all
    });
    let stolen = stolen.filter(|it| *it > STOLEN_PCT);
    let stolen = stolen.map(|it| format!("{} % of its time was stolen by its host", short(it)));
    let said: Vec<String> = [load, stolen].into_iter().flatten().collect();
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
        assert_eq!(warning(Some(1.0), Some(((100, 5), (200, 6)))), None);
        assert_eq!(warning(None, None), None);
        let said = warning(Some(8.5), Some(((100, 5), (200, 8)))).unwrap();
        assert!(said.contains("load 8.50 when it began"), "{said}");
        assert!(said.contains("3.00 % of its time was stolen"), "{said}");
        let said = warning(Some(0.2), Some(((100, 5), (200, 8)))).unwrap();
        assert!(!said.contains("load") && said.contains("stolen"), "{said}");
    }

    #[test]
    fn this_machine_tells() {
        let before = Before::now();
        assert!(before.load.is_some() && before.ticks.is_some());
    }
}

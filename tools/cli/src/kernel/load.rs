//! How busy the busiest CPU was during a measurement, from `/proc/stat`.
//!
//! A busy CPU takes ticks, and the running ticks determine which CPU handles the timer of the grace-period
//! thread. So a prediction for an idle machine does not apply to a busy one. `/proc/stat` has the idle time
//! of each CPU in hundredths of a second; it is read before and after.

use quiescent_live::files::Root;

/// The idle time and all time of each CPU.
pub type Times = Vec<(u64, u64)>;

/// The times until now; none if the file is not as expected.
pub fn times(root: &Root) -> Option<Times> {
    parse(&root.text("/proc/stat")?)
}

fn parse(text: &str) -> Option<Times> {
    let cpu = |line: &str| {
        // The first line is the sum over all CPUs.
        let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
        number.parse::<u32>().ok()?;
        // User, nice, system, idle, iowait, irq, softirq, steal; guests' are in user.
        let times = times.split_ascii_whitespace().take(8);
        let times: Option<Vec<u64>> = times.map(|it| it.parse().ok()).collect();
        let times = times.filter(|it| it.len() >= 5)?;
        Some((times[3] + times[4], times.iter().sum()))
    };
    let times: Times = text.lines().filter_map(cpu).collect();
    (!times.is_empty()).then_some(times)
}

/// The largest share of time in which a CPU was not idle between two readings; none if they are too near to
/// each other, or CPUs came or went.
pub fn busiest(before: &Times, after: &Times) -> Option<f64> {
    let share = |(before, after): (&(u64, u64), &(u64, u64))| {
        let all = after.1.saturating_sub(before.1);
        let idle = after.0.saturating_sub(before.0).min(all);
        // In a fifth of a second a hundredth more or less would be five percent.
        (all >= 20).then(|| 1.0 - idle as f64 / all as f64)
    };
    let shares: Option<Vec<f64>> = before.iter().zip(after).map(share).collect();
    let shares = shares.filter(|_| before.len() == after.len())?;
    shares.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 0 50 800 50 0 0 0 0 0\n\
                          cpu3 0 0 0 1000 0 0 0 0 0 0\nintr 9 0 0\nctxt 5000\n";
    const AFTER: &str = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 150 0 75 815 60 0 0 0 0 0\n\
                         cpu3 1 0 0 1099 0 0 0 0 0 0\nintr 9 0 0\nctxt 7000\n";

    #[test]
    fn the_share_of_the_busiest_cpu() {
        let (before, after) = (parse(BEFORE).unwrap(), parse(AFTER).unwrap());
        let share = busiest(&before, &after).unwrap();
        assert!((share - 0.75).abs() < 1e-9, "{share}");
    }

    #[test]
    fn nothing_is_said_after_no_time_or_about_nonsense() {
        let before = parse(BEFORE).unwrap();
        assert_eq!(busiest(&before, &before), None);
        assert_eq!(busiest(&before, &before[..1].to_vec()), None);
        for text in ["", "cpu0 1 2\n", "cpu0 a b c d e\n", "intr 1\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

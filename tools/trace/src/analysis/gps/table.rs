//! The tables of grace periods.

use super::{Gps, PHASES};
use crate::analysis::findings::{Findings, Table, count, ms, us};
use crate::analysis::spread::Spread;

impl Gps {
    pub(super) fn tables(&self, findings: &mut Findings) {
        let counts = &self.counts;
        let mut phases = Table::new("Phases of grace periods", "", &["phase"]);
        for (name, spread) in PHASES.iter().zip(&counts.phases) {
            let [p50, p99] = spread.percentiles([50, 99]);
            let figures = [
                ("n", "n", "count", count(spread.n)),
                ("min us", "duration_us_min", "us", us(spread.min())),
                ("avg us", "duration_us_avg", "us", us(spread.mean())),
                ("p50 us", "duration_us_p50", "us", us(p50)),
                ("p99 us", "duration_us_p99", "us", us(p99)),
                ("max us", "duration_us_max", "us", us(spread.max())),
            ];
            phases.add(&[name], &figures);
        }
        let mut scans = Table::new("By number of scans", "scans ", &["scans"]);
        for (n, gps) in &counts.scans {
            let gps = ("gps", "grace_periods", "count", count(*gps));
            scans.add(&[&n.to_string()], &[gps]);
        }
        let durations = |of: &Spread| {
            [
                ("gps", "grace_periods", "count", count(of.n)),
                ("avg ms", "gp_ms_avg", "ms", ms(of.mean())),
                ("max ms", "gp_ms_max", "ms", ms(of.max())),
            ]
        };
        let mut last = Table::new("Who was waited for last", "last ", &["last holdout"]);
        for (who, of) in &counts.last {
            last.add(&[who], &durations(of));
        }
        let mut asked = Table::new(
            "Who asked",
            "asked ",
            &["callback", "queued by", "asked by"],
        );
        for (origin, of) in &counts.asked {
            asked.add(&self.origins.labels(*origin), &durations(of));
        }
        last.sort_by(0);
        asked.sort_by(0);
        findings.show([phases, scans, last, asked, self.longest()]);
    }

    fn longest(&self) -> Table {
        let labels = [
            "number",
            "last holdout",
            "callback",
            "queued by",
            "asked by",
        ];
        let mut longest = Table::new("The longest", "longest ", &labels);
        for (place, (duration, start, scans, who, origin)) in self.counts.longest.iter().enumerate()
        {
            let [callback, task, by] =
                origin.map_or(["-"; 3], |origin| self.origins.labels(origin));
            let figures = [
                ("start s", "start_s", "s", Some(*start as f64 / 1e9)),
                ("ms", "gp_ms", "ms", ms(Some(*duration as f64))),
                ("scans", "scans", "count", count(*scans)),
            ];
            let number = (place + 1).to_string();
            longest.add(&[&number, who, callback, task, by], &figures);
        }
        longest
    }
}

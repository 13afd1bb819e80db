//! The tables of grace periods.

use super::{Gps, PHASES};
use crate::analysis::findings::{Findings, Table, count, ms, us};

impl Gps {
    pub(super) fn tables(&self, findings: &mut Findings) {
        let counts = &self.counts;
        let mut phases = Table::new(
            "Phases of grace periods",
            "",
            &["phase"],
            &[
                ("n", "n", "count"),
                ("min us", "duration_us_min", "us"),
                ("avg us", "duration_us_avg", "us"),
                ("p50 us", "duration_us_p50", "us"),
                ("p99 us", "duration_us_p99", "us"),
                ("max us", "duration_us_max", "us"),
            ],
        );
        for (name, spread) in PHASES.iter().zip(&counts.phases) {
            let [p50, p99] = spread.percentiles([50, 99]);
            let times = [spread.min(), spread.mean(), p50, p99, spread.max()];
            let [min, avg, p50, p99, max] = times.map(us);
            phases.row(&[name], &[count(spread.n), min, avg, p50, p99, max]);
        }
        findings.tables.push(phases);

        let mut scans = Table::new(
            "By number of scans",
            "scans ",
            &["scans"],
            &[("gps", "grace_periods", "count")],
        );
        for (n, gps) in &counts.scans {
            scans.row(&[&n.to_string()], &[count(*gps)]);
        }
        let columns = [
            ("gps", "grace_periods", "count"),
            ("avg ms", "gp_ms_avg", "ms"),
            ("max ms", "gp_ms_max", "ms"),
        ];
        let mut last = Table::new(
            "Who was waited for last",
            "last ",
            &["last holdout"],
            &columns,
        );
        for (who, (gps, spread)) in &counts.last {
            last.row(&[who], &[count(*gps), ms(spread.mean()), ms(spread.max())]);
        }
        let mut asked = Table::new(
            "Who asked",
            "asked ",
            &["callback", "queued by", "asked by"],
            &columns,
        );
        for (origin, spread) in &counts.asked {
            asked.row(
                &self.origins.labels(*origin),
                &[count(spread.n), ms(spread.mean()), ms(spread.max())],
            );
        }
        last.sort_by(0);
        asked.sort_by(0);
        let columns = [
            ("start s", "start_s", "s"),
            ("ms", "gp_ms", "ms"),
            ("scans", "scans", "count"),
        ];
        let labels = [
            "number",
            "last holdout",
            "callback",
            "queued by",
            "asked by",
        ];
        let mut longest = Table::new("The longest", "longest ", &labels, &columns);
        for (place, (duration, start, scans, who, origin)) in counts.longest.iter().enumerate() {
            let [callback, task, by] =
                origin.map_or(["-"; 3], |origin| self.origins.labels(origin));
            let figures = [
                Some(*start as f64 / 1e9),
                ms(Some(*duration as f64)),
                count(*scans),
            ];
            longest.row(
                &[&(place + 1).to_string(), who, callback, task, by],
                &figures,
            );
        }
        findings.tables.extend(
            [scans, last, asked, longest]
                .into_iter()
                .filter(|t| !t.rows.is_empty()),
        );
    }
}

//! The slowest reads of a thread while another grows the map.

use super::load::Keys;
use super::work::filled;
use super::{Family, Hasher, Map, Stored, short};
use crate::measure::figures::Figures;
use crate::measure::once::Said;
use crate::measure::threads::DIED;
use crate::measure::{clock, process};
use hdrhistogram::Histogram;
use quiescent_report::rows::Figure;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A map of so many entries that grows to this many times as many.
const TIMES: u64 = 16;
/// Reads that took longer, in ns, are looked at: the kernel may have had the CPU.
const LONG: u64 = 3_000;

/// How often a map of so many entries grows: a small one has grown before there are enough reads.
pub(crate) fn growths(entries: u64) -> u64 {
    (600_000 / entries).clamp(1, 8)
}

/// Times in ns.
struct Times {
    all: Histogram<u64>,
    stamps_per_us: u64,
    interrupted: u64,
    left_out: u64,
}

impl Times {
    fn new(stamps_per_us: u64) -> Self {
        Times {
            all: Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("1 is less than a minute"),
            stamps_per_us,
            interrupted: process::interruptions(),
            left_out: 0,
        }
    }

    /// Measures once, unless the kernel took the CPU away meanwhile, or gave memory.
    #[inline(always)]
    fn time(&mut self, what: impl FnOnce()) {
        let begin = clock::stamp_in_order();
        what();
        let ns = clock::stamp_in_order().wrapping_sub(begin) * 1_000 / self.stamps_per_us;
        if ns > LONG {
            let before = self.interrupted;
            self.interrupted = process::interruptions();
            if self.interrupted != before {
                self.left_out += 1;
                return;
            }
        }
        self.all.saturating_record(ns);
    }

    /// What one look-up in 100 000 takes at least, without those that interrupts made long: as many as of
    /// an unchanged map take as long, in the same time.
    fn without_interrupts(&self, unchanged: &Times) -> Option<f64> {
        let total = |it: &Times| it.all.mean() * it.all.len() as f64;
        let (share, most) = (total(self) / total(unchanged), self.all.len() as f64 / 1e5);
        let so_long = |it: &Times, ns| it.all.count_between(ns, u64::MAX) as f64;
        let times = self.all.iter_recorded().map(|it| it.value_iterated_to());
        let often = |ns: &u64| so_long(self, *ns) - so_long(unchanged, *ns) * share >= most;
        times.filter(often).last().map(|ns| ns as f64)
    }

    fn figures(&self, case: String, unchanged: Option<&Times>) -> Vec<Figure> {
        let mut figures = Figures::of(case);
        let wanted = [
            ("latency_ns_p50", 0.5),
            ("latency_ns_p99.9", 0.999),
            ("latency_ns_p99.999", 0.999_99),
        ];
        figures.quantiles(("ns", 1.0), &self.all, wanted);
        let net = unchanged.and_then(|it| self.without_interrupts(it));
        figures.add("net_latency_ns_p99.999", "ns", net);
        figures.count("left_out", "reads", self.left_out);
        figures.all
    }
}

/// Reads keys that stay, and by turns those of a map that nothing changes: interrupts are in both.
pub(super) fn reads<F: Family, T: Stored, S: Hasher>(entries: u64) -> Said {
    let still = F::Of::<T, S>::empty();
    filled(&still, 1, entries)?;
    let mut times = [clock::stamps_per_us(); 2].map(Times::new);
    let mut wrong = 0;
    for _ in 0..growths(entries) {
        wrong += beside_growth(&mut times, &still, entries)?;
    }
    let [growing, at_rest] = &times;
    let case = |when| format!("{} {} {when}", T::NAME, short(entries));
    match wrong {
        0 => Ok([
            growing.figures(case("growing"), Some(at_rest)),
            at_rest.figures(case("unchanged"), None),
        ]
        .concat()),
        _ => Err(format!(
            "this map is wrong: {wrong} answers while it grew; do not use it"
        )),
    }
}

/// The same for one map; how many answers were wrong.
fn beside_growth<T: Stored, M: Map<T> + Send>(
    [growing, at_rest]: &mut [Times; 2],
    still: &M,
    entries: u64,
) -> Result<u64, String> {
    let map = M::empty();
    let mut kept = filled(&map, 1, entries)?.swap_remove(0);
    let grown = AtomicBool::new(false);
    let read = || {
        let mut wrong = 0;
        // One is measured at least, however fast a small map grows.
        while !grown.load(Relaxed) || growing.all.is_empty() || at_rest.all.is_empty() {
            let (one, other) = (kept.any(), kept.any());
            growing.time(|| wrong += u64::from(!map.get(one)));
            at_rest.time(|| wrong += u64::from(!still.get(other)));
        }
        wrong
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(read);
        let mut added = Keys::of(1);
        let more = entries..TIMES * entries;
        let lost = more.filter(|_| !added.insert(&map)).count() as u64;
        grown.store(true, Relaxed);
        let wrong = reader.join().map_err(|_| DIED.to_owned())?;
        Ok(wrong + lost)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[(u64, u64)]) -> Times {
        let mut times = Times::new(1);
        for (ns, count) in all {
            times.all.record_n(*ns, *count).unwrap();
        }
        times
    }

    #[test]
    fn interrupts_are_taken_out_by_time_and_what_growth_does_is_not() {
        let unchanged = times(&[(100, 9_999_000), (40_000, 1_000)]);
        // Look-ups that take twice as long meet twice as many.
        let interrupted = times(&[(200, 9_997_600), (900, 400), (40_000, 2_000)]);
        let net = interrupted.without_interrupts(&unchanged).unwrap();
        assert!((900.0..910.0).contains(&net), "{net}");
        let slow = times(&[(200, 9_997_600), (20_000, 200), (40_000, 2_200)]);
        let net = slow.without_interrupts(&unchanged).unwrap();
        assert!((40_000.0..40_100.0).contains(&net), "{net}");
    }
}

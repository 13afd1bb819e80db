//! HZ and the jiffy number, out of a trace that states neither.
//!
//! * **From wheel timers.** `timer_expire_entry` prints the jiffy number: over a second or more its growth is
//!   HZ.
//! * **From ticks.** On one CPU, ticks are whole periods apart, however many were left out. The frequency is
//!   the *lowest* common one at which nine of ten gaps are whole: at HZ=1000 three gaps in four are no whole
//!   periods of 250 Hz, while every gap at 250 Hz is a whole one of 1000 Hz too. Gaps above a second are left
//!   out, for clocks drift.
//!
//! The first is preferred: a machine that ticks late has wrong gaps and right jiffies. What can be known from
//! neither is not guessed.

use crate::{Event, Record};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Values of HZ that kernels are built with.
const COMMON: [u32; 9] = [24, 48, 100, 128, 250, 256, 300, 1000, 1024];

/// Gaps between ticks that are needed for a verdict.
const GAPS_NEEDED: u64 = 16;

/// Jiffies between two wheel timers that are needed for a verdict.
const JIFFIES_NEEDED: u64 = 100;

/// Follows ticks and wheel timers.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    last_tick: BTreeMap<u32, u64>,
    gaps: u64,
    whole: [u64; COMMON.len()],
    last_timer: Option<(u64, u64)>,
    /// Timers, for the jiffy number: instants and numbers, the first few thousand.
    timers: Vec<(u64, u64)>,
}

/// Timers whose events are searched for the jiffy number.
const TIMERS_MOST: usize = 4096;

/// Jiffy numbers that a kernel can have: thousands of years are left to count on from there.
const JIFFIES: RangeInclusive<u64> = 1..=u64::MAX >> 16;

impl Clock {
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        match *event {
            Event::Tick { .. } => self.tick(record.cpu, record.time_ns),
            Event::Timer { jiffies, .. } => {
                let timer = (record.time_ns, jiffies);
                self.last_timer = Some(timer);
                if self.timers.len() < TIMERS_MOST {
                    self.timers.push(timer);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, cpu: u32, time_ns: u64) {
        let Some(last) = self.last_tick.insert(cpu, time_ns) else {
            return;
        };
        let gap = time_ns.saturating_sub(last);
        if !(100_000..=1_000_000_000).contains(&gap) {
            return;
        }
        self.gaps += 1;
        for (hz, whole) in COMMON.iter().zip(&mut self.whole) {
            *whole += u64::from(is_whole(gap, *hz));
        }
    }

    /// HZ, if the trace tells it.
    pub(crate) fn hz(&self) -> Option<u32> {
        self.hz_by_timers().or_else(|| self.hz_by_ticks())
    }

    fn hz_by_timers(&self) -> Option<u32> {
        let ((t0, j0), (t1, j1)) = (*self.timers.first()?, self.last_timer?);
        let (time, jiffies) = (t1.checked_sub(t0)?, j1.wrapping_sub(j0));
        // A difference beyond 32 bits is no growth: the trace is not in order.
        if jiffies < JIFFIES_NEEDED || jiffies > u64::from(u32::MAX) || time == 0 {
            return None;
        }
        let hz = jiffies as f64 * 1e9 / time as f64;
        let near = |common: &&u32| (hz / f64::from(**common) - 1.0).abs() < 0.02;
        let close = |hz2: &&u32| (hz - f64::from(**hz2)).abs();
        COMMON
            .iter()
            .filter(near)
            .min_by(|a, b| close(a).total_cmp(&close(b)))
            .copied()
    }

    fn hz_by_ticks(&self) -> Option<u32> {
        let enough = |whole: &u64| self.gaps >= GAPS_NEEDED && whole * 10 >= self.gaps * 9;
        let found = COMMON.iter().zip(&self.whole).find(|(_, w)| enough(w));
        found.map(|(hz, _)| *hz)
    }

    /// The jiffy number at time 0 of the trace's clock, given HZ: what most wheel timers say, unless that was
    /// before the counter began.
    pub(crate) fn jiffies_at_zero(&self, hz: u32) -> Option<u64> {
        let mut votes = BTreeMap::new();
        for (time, jiffies) in &self.timers {
            let since = u128::from(*time) * u128::from(hz) / 1_000_000_000;
            let zero = jiffies.wrapping_sub(since as u64);
            *votes.entry(zero).or_insert(0u32) += 1;
        }
        let most = votes.iter().max_by_key(|(_, n)| **n);
        most.map(|(zero, _)| *zero)
            .filter(|it| JIFFIES.contains(it))
    }
}

/// Whether a gap is a whole number of periods, to an eighth of one and at most 100 µs.
fn is_whole(gap: u64, hz: u32) -> bool {
    let period = 1_000_000_000 / u64::from(hz);
    let off = gap % period;
    let off = off.min(period - off);
    gap + off >= period && off <= (period / 8).min(100_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of one CPU at `hz` with the given gaps in periods, each late by up to 30 µs.
    fn ticking(hz: u32, gaps: &[u64]) -> Clock {
        let mut clock = Clock::default();
        let mut periods = 1_000;
        for (i, gap) in gaps.iter().cycle().take(64).enumerate() {
            let late = (i as u64 * 7919) % 30_000;
            clock.tick(3, periods * 1_000_000_000 / u64::from(hz) + late);
            periods += gap;
        }
        clock
    }

    #[test]
    fn every_common_hz_is_distinguished_from_its_multiples() {
        for hz in [100, 250, 300, 1000] {
            assert_eq!(ticking(hz, &[1, 2, 1, 5, 3]).hz(), Some(hz), "{hz}");
        }
    }

    #[test]
    fn few_ticks_decide_nothing() {
        let mut clock = Clock::default();
        (0..10).for_each(|i| clock.tick(0, i * 4_000_000));
        assert_eq!(clock.hz(), None);
        assert_eq!(clock.jiffies_at_zero(250), None);
    }

    #[test]
    fn wheel_timers_give_hz_and_the_jiffy_number() {
        let mut clock = Clock::default();
        for i in 0..10u64 {
            let record = (2_000_003_000 + i * 100_000_000, 4_294_669_296 + i * 100);
            clock.last_timer = Some(record);
            clock.timers.push(record);
        }
        assert_eq!(clock.hz(), Some(1000));
        assert_eq!(clock.jiffies_at_zero(1000), Some(4_294_667_296));
    }

    /// A number that is cut short, or forged, is no machine's beginning: a replay counts on from there.
    #[test]
    fn a_jiffy_number_that_no_kernel_has_is_none() {
        for (time, jiffies) in [
            (1_806_006_000, 4),
            (0, 0),
            (0, u64::MAX),
            (1, u64::MAX >> 15),
        ] {
            let clock = Clock {
                timers: vec![(time, jiffies)],
                ..Clock::default()
            };
            assert_eq!(clock.jiffies_at_zero(1000), None, "{jiffies}");
        }
    }
}

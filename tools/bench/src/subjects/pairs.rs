//! CPU time of loops, in rounds: what `bench read` measures with.
//!
//! A *cell* is one loop. A round runs every cell once; the next round starts with the next place
//! ([`crate::measure::order`]). The figure of a cell in a round is the CPU time of a turn, less that of its
//! bare loop *in the same round*; a difference below zero is noise and counts as zero.

use crate::measure::order;
use crate::subjects::READS_PER_REPIN;
use crate::subjects::pool::{Job, Pool};
use quiescent_report::{Control, Error};

/// One loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<R> {
    /// Where it stands in the rotation: cells of one place are measured one after another.
    pub place: usize,
    /// Who, and the case.
    pub name: (&'static str, &'static str),
    /// How it is run.
    pub run: R,
    /// The cell that is subtracted; none for a bare loop, which has no figure.
    pub bare: Option<usize>,
}

/// Measures in so many rounds, the first of which this seed rotates: `run` gives the ns a turn of the cell
/// with this index. A figure a round for each cell that has a bare one. When stopped, those until then.
///
/// # Errors
/// Those of `run`.
pub(crate) fn measure<R>(
    cells: &[Cell<R>],
    (rounds, seed): (u64, u64),
    what: &str,
    control: Control<'_>,
    run: impl Fn(usize) -> Result<f64, Error>,
) -> Result<Vec<Vec<f64>>, Error> {
    let places = cells.iter().map(|cell| cell.place + 1).max().unwrap_or(0);
    let mut samples = vec![Vec::new(); cells.len()];
    control.progress.begin(what, rounds);
    'rounds: for round in 0..rounds {
        let mut raw = vec![None; cells.len()];
        for place in order::round(places, round, seed) {
            for (index, _) in cells.iter().enumerate().filter(|(_, c)| c.place == place) {
                if control.stopped() {
                    settle(cells, &raw, &mut samples);
                    break 'rounds;
                }
                raw[index] = Some(run(index)?);
                control.progress.advance(0);
            }
        }
        settle(cells, &raw, &mut samples);
        control.progress.advance(1);
    }
    control.progress.end();
    Ok(samples)
}

/// Finds how many turns take about so much CPU time, shared out when there are more threads than CPUs:
/// doubles from a few thousand until a run is long enough to scale from.
///
/// # Errors
/// [`Error::Failed`] when a measuring thread died.
pub(crate) fn calibrate(
    pool: &Pool,
    run: fn(u64),
    cell_us: u64,
    threads: u64,
) -> Result<Job, Error> {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = threads.div_ceil(cpus as u64).max(1);
    let goal_ns = (cell_us * 1_000 / share).max(50_000) as f64;
    let mut job = Job {
        run,
        turns: 64 * READS_PER_REPIN,
    };
    loop {
        let ns_a_turn = pool.run(job)?;
        let ns = ns_a_turn * job.turns as f64;
        if ns >= goal_ns / 8.0 || job.turns >= 1 << 32 {
            let turns = (goal_ns / ns_a_turn.max(0.01)) as u64;
            // Whole sections in each of the four copies of a loop.
            job.turns = turns
                .next_multiple_of(4 * READS_PER_REPIN)
                .max(4 * READS_PER_REPIN);
            return Ok(job);
        }
        job.turns *= 2;
    }
}

/// Takes the bare loop of the same round off each figure of that round.
fn settle<R>(cells: &[Cell<R>], raw: &[Option<f64>], samples: &mut [Vec<f64>]) {
    for ((cell, ns), samples) in cells.iter().zip(raw).zip(samples) {
        let bare = cell.bare.and_then(|bare| raw[bare]);
        if let Some((ns, bare)) = ns.zip(bare) {
            samples.push((ns - bare).max(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_loop_is_subtracted_and_noise_is_zero() {
        let cell = |bare| Cell {
            place: 0,
            name: ("", ""),
            run: (),
            bare,
        };
        let cells = [None, Some(0), Some(0), Some(4), None].map(cell);
        let mut samples = vec![Vec::new(); cells.len()];
        let raw = [Some(1.0), Some(3.0), Some(0.25), Some(3.0), None];
        settle(&cells, &raw, &mut samples);
        assert_eq!((&samples[1][..], &samples[2][..]), (&[2.0][..], &[0.0][..]));
        let without = [&samples[0], &samples[3], &samples[4]];
        assert!(
            without.iter().all(|samples| samples.is_empty()),
            "without a bare loop there is no figure"
        );
    }
}

//! Measuring processes that run at the same time, wave after wave.
//!
//! Processes that sleep nearly always do not disturb each other's wake-ups (each process's threads are its
//! own), and waiting for them one after another would take an hour. So every process says how often it wakes
//! ([`Cell::load`]), and a wave takes as many as the machine does not notice. What is timed finely, or uses a
//! whole CPU, is a wave of its own.

use crate::measure::once::{Ask, Once};
use quiescent_report::rows::Samples;
use quiescent_report::{Control, Error};
use std::path::Path;

/// One measurement.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Whose.
    pub subject: &'static str,
    /// What.
    pub ask: Ask,
    /// How much of a wave it fills.
    pub load: u64,
}

/// Splits cells into waves, in order: each holds at least one, and no more load than `capacity` unless it is
/// only one.
pub fn plan(cells: Vec<Cell>, capacity: u64) -> Vec<Vec<Cell>> {
    let mut waves: Vec<(u64, Vec<Cell>)> = Vec::new();
    for cell in cells {
        match waves.last_mut() {
            Some((load, wave)) if *load + cell.load <= capacity => {
                *load += cell.load;
                wave.push(cell);
            }
            _ => waves.push((cell.load, vec![cell])),
        }
    }
    waves.into_iter().map(|(_, wave)| wave).collect()
}

/// Measures all of them. When stopped, gives what was measured until then.
///
/// # Errors
/// [`Error::Failed`] when a process cannot be started, dies or hangs.
pub fn run(
    program: &Path,
    what: &str,
    waves: Vec<Vec<Cell>>,
    control: Control<'_>,
) -> Result<Samples, Error> {
    let mut samples = Samples::default();
    let steps = waves.iter().map(Vec::len).sum::<usize>();
    control.progress.begin(what, steps as u64);
    'waves: for wave in waves {
        let mut running = Vec::new();
        for cell in &wave {
            running.push((cell.subject, Once::start(program, &cell.ask)?));
        }
        for (subject, process) in running {
            let Some(figures) = process.wait(control)? else {
                break 'waves;
            };
            samples.add(subject, figures);
            control.progress.advance(1);
        }
    }
    control.progress.end();
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::once::tests::Twice;

    fn loads(loads: &[u64], capacity: u64) -> Vec<Vec<u64>> {
        let cell = |load: &u64| Cell {
            subject: "ck",
            ask: Ask::of(&Twice { number: 1 }),
            load: *load,
        };
        let waves = plan(loads.iter().map(cell).collect(), capacity);
        let load = |wave: Vec<Cell>| wave.iter().map(|cell| cell.load).collect();
        waves.into_iter().map(load).collect()
    }

    #[test]
    fn waves_are_filled_in_order() {
        assert_eq!(loads(&[0, 4, 5, 1, 9], 10), [vec![0, 4, 5, 1], vec![9]]);
        assert_eq!(loads(&[99, 99], 10), [[99], [99]]);
        assert!(loads(&[], 10).is_empty());
    }
}

//! The order in which subjects are measured.
//!
//! A machine drifts: it warms up, a neighbour starts. Measured one after another, the last subject would pay
//! for the drift. So every round measures all of them once, and each round starts with another one: over any
//! `subjects` consecutive rounds each has stood in each place exactly once.

/// Indices `0..subjects` in the order of round `round`, rotated further by `seed`.
///
/// ```
/// use quiescent_bench::measure::order::round;
/// assert_eq!(round(3, 0, 0).collect::<Vec<_>>(), [0, 1, 2]);
/// assert_eq!(round(3, 1, 0).collect::<Vec<_>>(), [1, 2, 0]);
/// ```
pub fn round(subjects: usize, round: u64, seed: u64) -> impl Iterator<Item = usize> {
    let first = match subjects as u64 {
        0 => 0,
        n => ((round % n + seed % n) % n) as usize,
    };
    (first..subjects).chain(0..first)
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn each_subject_stands_in_each_place_once() {
        let n = 7;
        for seed in [0, 3, u64::MAX] {
            let mut seen = vec![vec![false; n]; n];
            for r in 0..n as u64 {
                for (place, subject) in round(n, r, seed).enumerate() {
                    assert!(!seen[subject][place], "seed {seed}");
                    seen[subject][place] = true;
                }
            }
            assert!(seen.iter().flatten().all(|&stood| stood));
        }
    }

    #[test]
    fn no_subjects_are_no_panic() {
        assert_eq!(round(0, 5, 5).count(), 0);
    }
}

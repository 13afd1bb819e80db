//! Median, range, percentile. Samples from a shared machine are skewed, so no means are compared.

/// Median, smallest and largest of some samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub n: u64,
    /// The middle sample; the mean of the two middle ones when `n` is even.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Summarises `samples`; `None` without samples or if one is not a number. O(n log n).
///
/// ```
/// let s = quiescent_report::rows::stats::summary(&[3.0, 1.0, 10.0, 2.0]).unwrap();
/// assert_eq!((s.median, s.min, s.max, s.n), (2.5, 1.0, 10.0, 4));
/// ```
pub fn summary(samples: &[f64]) -> Option<Summary> {
    let sorted = sorted(samples)?;
    let n = sorted.len();
    let middle = n / 2;
    let median = if n % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    };
    Some(Summary {
        n: n as u64,
        median,
        min: sorted[0],
        max: sorted[n - 1],
    })
}

/// The smallest sample that at least `percent` percent of the samples do not exceed (nearest rank); `None` as
/// for [`summary`] or when `percent` is outside 0..=100.
pub fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    if !(0.0..=100.0).contains(&percent) {
        return None;
    }
    let sorted = sorted(samples)?;
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    Some(sorted[rank.saturating_sub(1).min(sorted.len() - 1)])
}

/// The arithmetic mean; `None` as for [`summary`]. Used only beside published means.
pub fn mean(samples: &[f64]) -> Option<f64> {
    sorted(samples).map(|sorted| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

fn sorted(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.is_empty() || samples.iter().any(|sample| sample.is_nan()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(summary(&[5.0, 1.0, 3.0]).unwrap().median, 3.0);
        assert_eq!(summary(&[4.0, 1.0, 3.0, 2.0]).unwrap().median, 2.5);
        let one = summary(&[7.0]).unwrap();
        assert_eq!((one.n, one.median, one.min, one.max), (1, 7.0, 7.0, 7.0));
    }

    #[test]
    fn nothing_and_not_a_number_have_no_summary() {
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[1.0, f64::NAN]), None);
        assert_eq!(percentile(&[1.0], 101.0), None);
    }

    #[test]
    fn nearest_rank() {
        let samples: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&samples, 99.0), Some(198.0));
        assert_eq!(percentile(&samples, 100.0), Some(200.0));
        assert_eq!(percentile(&samples, 0.0), Some(1.0));
        assert_eq!(percentile(&[9.0], 99.0), Some(9.0));
    }

    #[test]
    fn mean_is_of_all() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
    }
}

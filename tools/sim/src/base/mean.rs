//! Means and medians.

/// The mean of the values; 0 of none.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = values
        .into_iter()
        .fold((0.0, 0u64), |(sum, n), value| (sum + value, n + 1));
    sum / n.max(1) as f64
}

/// The one in the middle, of values in any order; of none it is none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

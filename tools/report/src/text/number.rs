//! Figures as texts: a fixed number of significant digits, and a dash for those that are no number.

/// A figure with about three significant digits: `0.057`, `1.45`, `26.1`, `1480`; with an exponent where
/// there would be many zeros; a dash for a value that is no number.
///
/// ```
/// use quiescent_report::text::number::figure;
/// assert_eq!([0.0567, 1.449, 26.06, 1480.4, 0.0].map(figure), ["0.057", "1.45", "26.1", "1480", "0"]);
/// assert_eq!([0.000_012, 4e-9, 1.5e9].map(figure), ["1.20e-5", "4.00e-9", "1.50e9"]);
/// assert_eq!(figure(f64::NAN), "-");
/// ```
pub fn figure(value: f64) -> String {
    match value.abs() {
        it if !it.is_finite() => "-".into(),
        it if it == 0.0 || (0.01..1e7).contains(&it) => short(value),
        _ => format!("{value:.2e}"),
    }
}

/// A figure for a column of text, with at most three decimals: `0.057`, `1.45`, `26.1`, `1480`.
///
/// ```
/// use quiescent_report::text::number::short;
/// assert_eq!([short(0.0567), short(1.449), short(26.06), short(1480.4)], ["0.057", "1.45", "26.1", "1480"]);
/// ```
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        0.0 => "0".into(),
        _ => format!("{value:.3}"),
    }
}

/// A count in few letters: `985`, `9.90k`, `12.3M`.
///
/// ```
/// use quiescent_report::text::number::brief;
/// assert_eq!([985, 9_900, 12_345_678, 5_000_000_000].map(brief), ["985", "9.90k", "12.3M", "5000M"]);
/// ```
pub fn brief(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => short(count as f64 / 1e3) + "k",
        _ => short(count as f64 / 1e6) + "M",
    }
}

/// `median [min..max]`.
pub fn spread(median: f64, min: f64, max: f64) -> String {
    format!("{} [{}..{}]", short(median), short(min), short(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_a_dash() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(figure(value), "-");
        }
        assert_eq!(figure(-26.06), "-26.1");
    }
}

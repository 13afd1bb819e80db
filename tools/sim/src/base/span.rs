//! Spans of time: a stretch of a film, one after the other without gaps.

/// From when until when, in nanoseconds, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// From then on.
    pub from: u64,
    /// Until then.
    pub until: u64,
    /// What.
    pub what: T,
}

/// Adds a span, or makes the last one longer; only what lies in `from..until` is kept.
pub(crate) fn add<T: PartialEq>(
    spans: &mut Vec<Span<T>>,
    (from, until): (u64, u64),
    span: Span<T>,
) {
    let (start, end) = (span.from.max(from), span.until.min(until));
    if start >= end {
        return;
    }
    match spans.last_mut() {
        Some(last) if last.what == span.what && last.until == start => last.until = end,
        _ => spans.push(Span {
            from: start,
            until: end,
            what: span.what,
        }),
    }
}

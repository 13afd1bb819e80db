//! Text output: figures, tables, and tables made from the rows of a report.

pub mod cases;
pub mod number;
pub mod table;

pub use table::Table;

/// A text in at most so many letters: its beginning and its end, which identifies it better, remain.
///
/// ```
/// use quiescent_report::text::shortened;
/// assert_eq!(["abcdefghij", "abcdefg"].map(|it| shortened(it, 7)), ["ab…ghij", "abcdefg"]);
/// assert_eq!(shortened("abc", 0), "");
/// ```
pub fn shortened(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept / 3;
    let tail = letters.len() - (kept - head);
    let ends = letters[..head].iter().chain(['…'].iter().take(width));
    ends.chain(&letters[tail..]).collect()
}

//! Text output: figures, tables, and tables made from the rows of a report.

pub mod cases;
pub mod number;
mod shown;
pub mod table;

pub use shown::{shown, shown_bytes, shown_lines};
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

/// Text whose lines have at most so many columns: parted between words, the later parts indented. A word that
/// is wider than a line stays whole, and so does a pipeline in backquotes.
///
/// ```
/// use quiescent_report::text::folded;
/// assert_eq!(folded("one two three\n  four five", 8, 4), "one two\n    three\n  four\n    five");
/// assert_eq!(folded("a\n\nlonger", 3, 2), "a\n\nlonger");
/// ```
pub fn folded(text: &str, width: usize, indent: usize) -> String {
    // A pipeline in backquotes is copied from the screen: it stays in one line.
    let parts: Vec<&str> = text.split('`').collect();
    let whole =
        |(n, part): (usize, &&str)| match n % 2 == 1 && n + 1 < parts.len() && part.contains(" | ")
        {
            true => part.replace(' ', "\0"),
            false => (*part).to_owned(),
        };
    let text: Vec<String> = parts.iter().enumerate().map(whole).collect();
    let (text, mut lines) = (text.join("`"), Vec::new());
    for whole in text.split('\n') {
        let (mut line, mut begun) = (String::new(), false);
        for word in whole.split(' ') {
            let columns = line.chars().count() + word.chars().count();
            if begun && !word.is_empty() && columns > width {
                lines.push(line.trim_end().to_owned());
                line = " ".repeat(indent);
            }
            begun |= !word.is_empty();
            line += word;
            line.push(' ');
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n").replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_in_backquotes_is_not_parted() {
        let text = "sort it: `grep -v x FILE | sort -sn | quiescent trace -`, or `give one`";
        let said = folded(text, 20, 2);
        assert_eq!(
            said,
            "sort it:\n  `grep -v x FILE | sort -sn | quiescent trace -`,\n  or `give one`"
        );
        assert_eq!(folded("a `b | c d", 6, 0), "a `b |\nc d", "no pair");
    }

    #[test]
    fn long_lines_are_parted_between_words() {
        let words = ["word"; 60].join(" ");
        let text = folded(&words, 110, 12);
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|it| it.len() <= 110));
        assert_eq!(text.split_whitespace().count(), 60);
        // A word without room stays whole, and an indent is no word.
        let wide = "w".repeat(120);
        assert_eq!(
            folded(&format!("    {wide} a"), 110, 2),
            format!("    {wide}\n  a")
        );
    }
}

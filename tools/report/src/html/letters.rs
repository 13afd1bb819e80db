//! The width of words before drawing: the text of a drawing does not break by itself.
//!
//! Widths are *estimates* for the system's sans-serif letters, in hundredths of the letter's height, and
//! rather too wide: a line that is broken a word too early is harmless, a line that is wider than its drawing
//! is not. `ci/browser` uses real letters, and finds estimates that are too narrow.

/// A letter's width in hundredths of its height.
fn width_of(letter: char) -> u32 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 32,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '"' | '-' => 42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' | '…' => 100,
        'A'..='Z' | '&' | '<' | '>' | '=' | '+' | '~' | '#' => 84,
        ' '..='~' => 60,
        // Other letters than Latin, Greek and Cyrillic may be square, or a sign for a missing letter.
        '\u{a0}'..='\u{4ff}' => 90,
        _ => 125,
    }
}

/// The width of words, in pixels, if letters are so many pixels high.
pub(crate) fn width(words: &str, height: f64) -> f64 {
    let hundredths: u32 = words.chars().map(width_of).sum();
    f64::from(hundredths) * height / 100.0
}

/// As many letters as fit, with an ellipsis if some are left out.
pub(crate) fn shortened(words: &str, most: f64, height: f64) -> String {
    if width(words, height) <= most {
        return words.into();
    }
    let mut kept = String::new();
    let mut left = most - width("…", height);
    for letter in words.chars() {
        left -= f64::from(width_of(letter)) * height / 100.0;
        if left < 0.0 {
            break;
        }
        kept.push(letter);
    }
    kept.truncate(kept.trim_end().len());
    kept + "…"
}

/// Lines that fit, broken between words where possible; text beyond `lines` lines is left out, with an
/// ellipsis. At least one line.
pub(crate) fn wrapped(words: &str, most: f64, height: f64, lines: usize) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    let mut rest = words.trim();
    while done.len() + 1 < lines && width(rest, height) > most {
        let cut = break_at(rest, most, height);
        done.push(rest[..cut].trim_end().into());
        rest = rest[cut..].trim_start();
    }
    done.push(shortened(rest, most, height));
    done
}

/// The end of a line that is too long: after its last whole word that fits, or in the middle of the first
/// word; never at its beginning.
fn break_at(words: &str, most: f64, height: f64) -> usize {
    let mut used = 0.0;
    let (mut fits, mut space) = (0, 0);
    for (at, letter) in words.char_indices() {
        used += f64::from(width_of(letter)) * height / 100.0;
        if letter == ' ' {
            space = at;
        }
        if used > most {
            break;
        }
        fits = at + letter.len_utf8();
    }
    let first = words.chars().next().map_or(0, char::len_utf8);
    match space {
        0 => fits.max(first),
        // A space that is too far right is still an end: the text before it fits.
        at => at.max(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_every_line_fits() {
        let words = "model: thread on the caller's CPU, as busy as it was at the beginning";
        let lines = wrapped(words, 150.0, 12.0, 9);
        assert!(lines.len() > 1, "{lines:?}");
        assert_eq!(lines.join(" "), words);
        for line in &lines {
            assert!(width(line, 12.0) <= 150.0, "{line}");
        }
    }

    #[test]
    fn what_has_no_spaces_is_broken_and_what_is_too_much_is_cut() {
        let endless = "W".repeat(200);
        let lines = wrapped(&endless, 120.0, 12.0, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].len() >= 9 && lines[2].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|it| width(it, 12.0) <= 120.0), "{lines:?}");
        // A letter that is wider than the line is a line.
        assert_eq!(wrapped("日本", 5.0, 12.0, 2), ["日", "…"]);
    }

    #[test]
    fn short_words_stay_as_they_are() {
        assert_eq!(wrapped("ns a pair", 200.0, 12.0, 3), ["ns a pair"]);
        assert_eq!(wrapped("", 200.0, 12.0, 3), [""]);
        assert_eq!(shortened("abc", 100.0, 12.0), "abc");
        assert_eq!(shortened("a word", 30.0, 12.0), "a…");
    }
}

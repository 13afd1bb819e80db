//! A terminal's screen as a picture: an SVG file, for documents.
//!
//! Every letter keeps its column with any font: text between gaps is one piece that begins at its column and
//! has a fixed length. The picture has its own dark colours, as terminals have, because it does not know the
//! page around it.

use maud::html;
use std::path::Path;

/// A column's width, and a line's height, in pixels.
const COLUMN: f64 = 7.8;
const LINE: f64 = 17.0;
/// The margin around the letters.
const EDGE: f64 = 12.0;
const BACKGROUND: &str = "#14181d";
const INK: &str = "#dfe5ea";
const BOLD: &str = "#ffffff";

/// A screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    /// A description for screen readers.
    pub title: String,
    /// A further sentence.
    pub about: String,
    /// Its width, in columns.
    pub columns: usize,
    /// Its lines.
    pub lines: Vec<Vec<Piece>>,
}

/// Consecutive letters with the same look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The letters, a column each.
    pub text: String,
    /// Bold.
    pub bold: bool,
    /// Background and foreground exchanged.
    pub reversed: bool,
}

impl Screen {
    /// What a command printed, below the line with which it was started.
    ///
    /// ```
    /// use quiescent_report::html::terminal::Screen;
    /// let screen = Screen::printed("sim sync", "a table", "a  b\n1  2\n");
    /// assert_eq!((screen.columns, screen.lines.len()), (20, 3));
    /// ```
    pub fn printed(arguments: &str, about: &str, text: &str) -> Screen {
        let title = format!("quiescent {arguments}");
        let plain = |line: &str| Piece {
            text: line.to_owned(),
            ..Piece::default()
        };
        let command = Piece {
            bold: true,
            ..plain(&format!("$ {title}"))
        };
        let lines = std::iter::once(command).chain(text.lines().map(plain));
        let lines: Vec<Vec<Piece>> = lines.map(|piece| vec![piece]).collect();
        let width = |line: &Vec<Piece>| line[0].text.chars().count();
        Screen {
            title,
            about: about.to_owned(),
            columns: lines.iter().map(width).max().unwrap_or(0),
            lines,
        }
    }

    /// For a test: compares with the picture in a file of the documents, which `again` writes anew.
    ///
    /// # Errors
    /// A sentence with the file's name: it cannot be written, or has another picture.
    pub fn compare(&self, file: &Path, again: bool) -> Result<(), String> {
        let (drawn, name) = (self.render(), file.display());
        if again {
            return std::fs::write(file, drawn).map_err(|why| format!("{name}: {why}"));
        }
        match std::fs::read_to_string(file) {
            Ok(kept) if kept == drawn => Ok(()),
            _ => Err(format!(
                "{name} is not what is shown now. Draw it again if the change is meant"
            )),
        }
    }

    /// The file.
    ///
    /// ```
    /// use quiescent_report::html::terminal::{Piece, Screen};
    /// let piece = Piece { text: "a <b>  c".into(), ..Piece::default() };
    /// let screen = Screen { title: "t".into(), columns: 10, lines: vec![vec![piece]], ..Screen::default() };
    /// assert!(screen.render().contains(">a &lt;b&gt;</text>"));
    /// ```
    pub fn render(&self) -> String {
        let width = EDGE * 2.0 + self.columns as f64 * COLUMN;
        let height = EDGE * 2.0 + self.lines.len() as f64 * LINE;
        let size = format!("0 0 {width:.0} {height:.0}");
        let drawing = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(size)
                width=(format!("{width:.0}")) height=(format!("{height:.0}")) role="img"
                font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" {
                title { (self.title) } "\n"
                desc { (self.about) } "\n"
                rect class="ground" width="100%" height="100%" rx="8" fill=(BACKGROUND) {} "\n"
                @for (number, line) in self.lines.iter().enumerate() {
                    @let top = EDGE + number as f64 * LINE;
                    @for (column, piece) in starts(line) { (piece.draw(column, top)) }
                }
            }
        };
        drawing.into_string() + "\n"
    }
}

/// Each piece with the column at which it begins.
fn starts(line: &[Piece]) -> impl Iterator<Item = (usize, &Piece)> {
    line.iter().scan(0, |column, piece| {
        let here = *column;
        *column += piece.text.chars().count();
        Some((here, piece))
    })
}

impl Piece {
    fn draw(&self, column: usize, top: f64) -> maud::Markup {
        let place = |column: usize| format!("{:.1}", EDGE + column as f64 * COLUMN);
        let length = |columns: usize| format!("{:.1}", columns as f64 * COLUMN);
        let ink = match (self.reversed, self.bold) {
            (true, _) => BACKGROUND,
            (_, true) => BOLD,
            _ => INK,
        };
        let weight = self.bold.then_some("bold");
        html! {
            @if self.reversed {
                rect x=(place(column)) y=(format!("{top:.1}"))
                    width=(length(self.text.chars().count())) height=(LINE) fill=(INK) {} "\n"
            }
            @for (start, words) in words(&self.text) {
                text x=(place(column + start)) y=(format!("{:.1}", top + 13.0))
                    textLength=(length(words.chars().count())) lengthAdjust="spacingAndGlyphs"
                    fill=(ink) font-weight=[weight] { (words) } "\n"
            }
        }
    }
}

/// The texts between gaps of two spaces or more, with the column at which each begins.
fn words(text: &str) -> Vec<(usize, String)> {
    let letters: Vec<char> = text.chars().collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut gap = 2;
    for (column, &letter) in letters.iter().enumerate() {
        if letter == ' ' {
            gap += 1;
            continue;
        }
        match found.last_mut() {
            Some((_, words)) if gap < 2 => {
                words.extend((gap == 1).then_some(' '));
                words.push(letter);
            }
            _ => found.push((column, letter.into())),
        }
        gap = 0;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_part_words_and_single_spaces_do_not() {
        let found = words("  held 51, of 64   x ");
        assert_eq!(found, [(2, "held 51, of 64".into()), (19, "x".into())]);
        assert_eq!(words("   "), []);
        assert_eq!(words("▼a"), [(0, "▼a".into())]);
    }

    #[test]
    fn every_word_begins_at_its_column() {
        let plain = |text: &str| Piece {
            text: text.into(),
            ..Piece::default()
        };
        let screen = Screen {
            title: "<t>".into(),
            columns: 20,
            lines: vec![
                vec![
                    plain("ab  "),
                    Piece {
                        reversed: true,
                        ..plain("c <d>")
                    },
                ],
                vec![Piece {
                    bold: true,
                    ..plain("e")
                }],
            ],
            ..Screen::default()
        };
        let text = screen.render();
        let read = roxmltree::Document::parse(&text).unwrap();
        let words: Vec<_> = read
            .descendants()
            .filter(|it| it.has_tag_name(("http://www.w3.org/2000/svg", "text")))
            .collect();
        let places: Vec<(&str, &str)> = words
            .iter()
            .map(|it| (it.text().unwrap(), it.attribute("x").unwrap()))
            .collect();
        assert_eq!(places, [("ab", "12.0"), ("c <d>", "43.2"), ("e", "12.0")]);
        assert_eq!(words[1].attribute("fill"), Some(BACKGROUND));
        assert_eq!(words[2].attribute("font-weight"), Some("bold"));
    }
}

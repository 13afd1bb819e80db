//! A command's page, from the request to the file.
//!
//! Where it goes is settled before anything is measured ([`page_file`]), the clock starts there, and it is
//! written when the tables have been printed, so that a disk that is full costs the page only. All commands
//! that have `--html` do it through this.

use crate::show::file::Place;
use crate::show::output;
use crate::show::page_file;
use quiescent_report::Error;
use quiescent_report::Occasion;
use std::path::Path;
use std::time::{Instant, SystemTime};

/// Where the page goes, if there is to be one, and when its run began.
#[derive(Debug)]
pub struct Paper {
    place: Option<Place>,
    began: SystemTime,
    clock: Instant,
}

impl Paper {
    /// Settles the place. `json`: one document is wanted on standard output.
    pub fn settle(path: Option<&Path>, json: bool) -> Result<Paper, Error> {
        let place = path.map(page_file::settle).transpose()?;
        if json && place == Some(Place::Output) {
            let why = "--json and --html -: both want standard output; give the page a file";
            return Err(Error::Usage(why.into()));
        }
        Ok(Paper {
            place,
            began: SystemTime::now(),
            clock: Instant::now(),
        })
    }

    /// Whether the page is what standard output gets.
    pub fn is_output(&self) -> bool {
        self.place == Some(Place::Output)
    }

    /// Prints the tables or the JSON, unless the page stands in their place.
    pub fn tables(&self, text: impl FnOnce() -> String) -> Result<(), Error> {
        match self.is_output() {
            true => Ok(()),
            false => output::print(text().as_bytes()),
        }
    }

    /// Makes the page and writes it, if there is to be one; where it is goes to standard error.
    pub fn write(
        &self,
        stopped: bool,
        page: impl FnOnce(&Occasion) -> String,
    ) -> Result<(), Error> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        let occasion = Occasion {
            began: self.began,
            elapsed: self.clock.elapsed(),
            command_line: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            stopped,
        };
        if let Some(said) = page_file::write(place, &page(&occasion))? {
            eprintln!("{said}");
        }
        Ok(())
    }
}

/// As it was typed, for a shell, but for the path of the program.
fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    let all: Vec<String> = std::iter::once("quiescent".into()).chain(words).collect();
    all.join(" ")
}

/// A word that a shell reads back as it is.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+./,:@%".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for word in [
            "",
            "a b",
            "it's",
            "$x `y` \\ \"z\"",
            "a\nb",
            "--rate=0,100",
            "*",
        ] {
            let echo = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("sh")
                .args(["-c", &echo])
                .output();
            assert_eq!(output.unwrap().stdout, word.as_bytes(), "{word:?}");
        }
        assert_eq!(quoted("--rate=0,100"), "--rate=0,100");
    }
}

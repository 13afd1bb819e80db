//! A command's page, from the request to the file.
//!
//! Its place is checked before anything is measured (`show::file`), the clock starts there, and it is written
//! when the tables have been printed, so that a full disk loses only the page. A page of this program is
//! replaced. All commands with `--html` use this.

use crate::arguments::{Arguments, Page};
use crate::show::file::{self, Kind, Permit, Place, SHARED};
use crate::show::output::{self, Printed};
use clap::CommandFactory;
use quiescent_report::{Error, Occasion, Report, pages};
use std::path::Path;
use std::time::SystemTime;

/// Pages are of this kind. `reproduce` writes one by default.
const PAGE: Kind = Kind {
    option: "--html",
    what: Some("page"),
    ours: |head| pages::is_ours(&String::from_utf8_lossy(head)),
    without: ", or leave the page out (`reproduce --no-html`; other commands: no --html)",
    mode: SHARED,
};

/// The place of the page, if there is one, and the start of its run.
#[derive(Debug)]
pub struct Paper {
    place: Option<Place>,
    json: bool,
    began: SystemTime,
}

impl Paper {
    /// The page that is asked for, of a run that reads these files.
    pub fn of(page: &Page, json: bool, inputs: &[&Path]) -> Result<Paper, Error> {
        Paper::settle(page.html.as_deref(), json, page.force.force, inputs)
    }

    /// Checks the place. `json`: standard output gets one document. `force`: it may replace another file, but
    /// none of the inputs.
    pub fn settle(
        path: Option<&Path>,
        json: bool,
        force: bool,
        inputs: &[&Path],
    ) -> Result<Paper, Error> {
        let place = path.map(|path| file::settle(&PAGE, path, Permit::of(force, inputs)));
        let place = place.transpose()?;
        if json && place.as_ref().is_some_and(Place::is_output) {
            let why =
                "--json and --html -: both would be standard output; name a file for the page";
            return Err(Error::Usage(why.into()));
        }
        Ok(Paper {
            place,
            json,
            began: SystemTime::now(),
        })
    }

    /// Does standard output get the page?
    pub fn is_output(&self) -> bool {
        self.place.as_ref().is_some_and(Place::is_output)
    }

    /// Prints the tables or the JSON, unless the page replaces them.
    pub fn tables(&self, printed: impl FnOnce() -> Printed) -> Result<(), Error> {
        match self.is_output() {
            true => Ok(()),
            false => output::print(&printed()),
        }
    }

    /// Prints the report as JSON or as this text, unless the page replaces it, and writes the page.
    pub fn put(&self, report: &Report, text: &str) -> Result<(), Error> {
        self.tables(|| Printed::either(self.json, || report, || text))?;
        self.write(report, text, report.is_stopped())
    }

    /// Makes the page of a report and of the text that is printed, and writes it, if there is one; prints its
    /// place to standard error.
    pub fn write(&self, report: &Report, text: &str, stopped: bool) -> Result<(), Error> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        let occasion = Occasion {
            began: self.began,
            elapsed: self.began.elapsed().unwrap_or_default(),
            command_line: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            stopped,
        };
        let page = pages::page(report, &about(&report.command), text, &occasion);
        place.write(page.as_bytes())?;
        if !self.is_output() {
            output::tell(format!(
                "page: {} ({} KiB)\n",
                place.name(),
                page.len().div_ceil(1024)
            ));
        }
        Ok(())
    }
}

/// The description of a command, from its own help. Options may follow its name.
fn about(words: &str) -> String {
    let program = Arguments::command();
    let words = words.split(' ').take_while(|word| !word.starts_with('-'));
    let found = words
        .into_iter()
        .try_fold(&program, |command, word| command.find_subcommand(word));
    let about = found.and_then(clap::Command::get_about);
    about.map_or_else(String::new, |about| about.to_string())
}

/// The command as it was typed, for a shell, without the path of the program.
fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    let all: Vec<String> = std::iter::once("quiescent".into()).chain(words).collect();
    all.join(" ")
}

/// A word, quoted for a shell.
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

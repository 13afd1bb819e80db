//! Output files: one way for pages, traces, timelines and cases.
//!
//! A run takes minutes, so every obstacle to writing is found before it begins: a folder that does not exist
//! or is not writable, and above all an existing file. An empty file is replaced, and so is one that
//! [`Kind::ours`] recognises; any other only with `--force`, and an input of the same command never. The file
//! appears complete or not at all (`target`), and never instead of one that came into being meanwhile. A
//! special file (a pipe, `/dev/null`) is written to directly.

mod target;

use crate::show::output::{self, Printed};
use quiescent_report::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use target::{Draft, Refusal, Target};

/// A kind of output file.
#[derive(Debug)]
pub struct Kind {
    /// The option that names the file.
    pub option: &'static str,
    /// What this program writes, as a word; none if an existing file is never recognised.
    pub what: Option<&'static str>,
    /// True if the first bytes are those of such a file that this program wrote and can write again.
    pub ours: fn(&[u8]) -> bool,
    /// How to do without the file, behind another remedy; may be empty.
    pub without: &'static str,
    /// Who may read and write it, as far as the umask leaves it.
    pub mode: u32,
}

/// For everyone.
pub const SHARED: u32 = 0o666;

/// For this user: addresses of the kernel are in it.
pub const PRIVATE: u32 = 0o600;

impl Kind {
    /// Data that can be an input of another command: nothing is replaced unasked.
    pub const fn data(option: &'static str) -> Kind {
        Kind {
            option,
            what: None,
            ours: |_| false,
            without: "",
            mode: SHARED,
        }
    }
}

/// What may be replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Permit<'a> {
    /// `--force` was given.
    pub force: bool,
    /// What the command reads.
    pub inputs: &'a [&'a Path],
}

impl<'a> Permit<'a> {
    /// Whether `--force` was given, to a command that reads these files.
    pub fn of(force: bool, inputs: &'a [&'a Path]) -> Permit<'a> {
        Permit { force, inputs }
    }
}

/// A place for output.
#[derive(Debug)]
pub enum Place {
    /// Standard output.
    Output,
    /// A file, which exists or can be made.
    File(Rc<Target>),
    /// A special file (a pipe, `/dev/null`), which is open: it is written to directly.
    Special(PathBuf, File),
}

/// The number of bytes that are read to recognise a file.
const HEAD: u64 = 4096;

/// Checks the place of a path, and tries to make a file there; `-` is standard output. A link is followed, so
/// that it stays.
///
/// # Errors
/// The obstacle, with a remedy.
pub fn settle(kind: &Kind, path: &Path, permit: Permit) -> Result<Place, Error> {
    if path == Path::new("-") {
        return Ok(Place::Output);
    }
    settled(kind, path, permit).map_err(|(why, remedy)| {
        let (option, path) = (kind.option, path.display());
        Error::Usage(format!("{option} {path}: {why}; {remedy}{}", kind.without))
    })
}

fn settled(kind: &Kind, path: &Path, permit: Permit) -> Result<Place, Refusal> {
    let real = target::resolve(path)?;
    match fs::metadata(&real) {
        Ok(there) if there.is_dir() => {
            return Err(("this is a folder".into(), "name a file in it"));
        }
        Ok(there) if !there.is_file() => {
            let file = target::special(&real, &there)?;
            return Ok(Place::Special(real, file));
        }
        Ok(_) => may_replace(kind, &real, permit)?,
        Err(_) => {}
    }
    // The draft is dropped, and so removed.
    let target = Target::new(real, kind.mode).and_then(|it| it.draft().map(|_| it));
    let target = target.map_err(|why| {
        // Without the name that the file would have had.
        let why = match why.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            kind => kind.to_string(),
        };
        let remedy = "name a file in a folder that exists and is writable";
        (format!("cannot be written ({why})"), remedy)
    })?;
    Ok(Place::File(Rc::new(target)))
}

fn may_replace(kind: &Kind, file: &Path, permit: Permit) -> Result<(), Refusal> {
    let is_file = |input: &&Path| same_file::is_same_file(input, file).unwrap_or(false);
    if permit.inputs.iter().any(is_file) {
        let why = "this is the input, which is never overwritten";
        return Err((why.into(), "name another file"));
    }
    if permit.force {
        return Ok(());
    }
    let unread = |why| format!("the existing file cannot be read ({why})");
    let head = beginning(file).map_err(|why| (unread(why), "name another file"))?;
    if head.is_empty() || (kind.ours)(&head) {
        return Ok(());
    }
    let why = match kind.what {
        None => "this file exists".into(),
        Some(what) => format!("the existing file is no {what} of this program"),
    };
    Err((why, "name another file, or replace it with --force"))
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

impl Place {
    /// Opens it: where to write, and what makes the file appear. Until then a file is as it was before.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(&self) -> Result<(Box<dyn Write>, Unfinished), Error> {
        self.opened().map_err(|why| self.failed(why))
    }

    fn opened(&self) -> io::Result<(Box<dyn Write>, Unfinished)> {
        let (out, new): (Box<dyn Write>, _) = match self {
            Place::Output => (Box::new(io::stdout()), None),
            Place::Special(_, file) => (Box::new(file.try_clone()?), None),
            Place::File(target) => {
                let draft = target.draft()?;
                (Box::new(draft.file()?), Some((draft, Rc::clone(target))))
            }
        };
        Ok((Box::new(BufWriter::new(out)), Unfinished(new)))
    }

    /// Is it standard output?
    pub fn is_output(&self) -> bool {
        matches!(self, Place::Output)
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        if self.is_output() {
            let text = String::from_utf8_lossy(bytes).into_owned();
            return output::print(&Printed::document(text));
        }
        self.fill(|out| out.write_all(bytes))
    }

    /// Writes all of a file at once; it is kept if that succeeds.
    pub fn fill(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let (mut out, file) = self.open()?;
        let written = write(&mut *out).and_then(|()| out.flush());
        written.map_err(|why| self.failed(why))?;
        file.keep()
    }

    /// The error of writing there.
    pub fn failed(&self, why: io::Error) -> Error {
        failed(&self.name(), why)
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        match self {
            Place::Output => "the results".into(),
            Place::File(target) => target.path().display().to_string(),
            Place::Special(path, _) => path.display().to_string(),
        }
    }
}

fn failed(name: &str, why: io::Error) -> Error {
    let remedy = "is the disk full, or the folder removed?";
    Error::failed(format!("cannot write {name}"), why, remedy)
}

/// A file that is being written, under a name of its own: none for what is no file.
#[derive(Debug)]
#[must_use = "without `keep` the file is removed"]
pub struct Unfinished(Option<(Draft, Rc<Target>)>);

impl Unfinished {
    /// It is complete, and its writer was flushed: it takes the place of what was there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn keep(self) -> Result<(), Error> {
        let Some((draft, target)) = self.0 else {
            return Ok(());
        };
        let name = target.path().display().to_string();
        target.keep(draft).map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => {
                let why = "another program has made this file meanwhile";
                let remedy = "it stays; name another file";
                Error::failed(format!("cannot write {name}"), why, remedy)
            }
            _ => failed(&name, why),
        })
    }
}

#[cfg(test)]
mod tests;

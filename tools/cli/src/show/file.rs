//! Output files: one way for pages, traces, timelines and cases.
//!
//! A run takes minutes, so every obstacle to writing is found before it begins: a folder that does not exist
//! or is not writable, and above all an existing file. An empty file is replaced, and so is one that
//! [`Kind::ours`] recognises; any other only with `--force`, and an input of the same command never. The file
//! appears complete or not at all: it is written to a new file in the same folder and renamed. A special file
//! (a pipe, `/dev/null`) is written to directly.

use quiescent_report::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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
}

impl Kind {
    /// Data that can be an input of another command: nothing is replaced unasked.
    pub const fn data(option: &'static str) -> Kind {
        Kind {
            option,
            what: None,
            ours: |_| false,
            without: "",
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
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard output.
    Output,
    /// A file, which exists or can be made.
    File(PathBuf),
    /// A special file (a pipe, `/dev/null`): it is written to directly.
    Special(PathBuf),
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
    let refused = |why: &str, remedy: &str| {
        let (option, path) = (kind.option, path.display());
        let text = format!("{option} {path}: {why}; {remedy}{}", kind.without);
        Err(Error::Usage(text))
    };
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&real) {
        Ok(there) if there.is_dir() => return refused("this is a folder", "name a file in it"),
        Ok(there) if !there.is_file() => return Ok(Place::Special(real)),
        Ok(_) if permit.inputs.iter().any(|input| is_same(input, &real)) => {
            return refused(
                "this is the input, which is never overwritten",
                "name another file",
            );
        }
        Ok(_) if !permit.force => match beginning(&real) {
            Ok(head) if head.is_empty() || (kind.ours)(&head) => {}
            Ok(_) => {
                let why = match kind.what {
                    None => "this file exists".into(),
                    Some(what) => format!("the existing file is no {what} of this program"),
                };
                return refused(&why, "name another file, or replace it with --force");
            }
            Err(why) => {
                let why = format!("the existing file cannot be read ({why})");
                return refused(&why, "name another file");
            }
        },
        _ => {}
    }
    // Dropped, and so removed.
    if let Err(why) = beside(&real) {
        let remedy = "name a file in a folder that exists and is writable";
        // Without the name that the file would have had.
        let why = match why.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            kind => kind.to_string(),
        };
        return refused(&format!("cannot be written ({why})"), remedy);
    }
    Ok(Place::File(real))
}

fn is_same(one: &Path, other: &Path) -> bool {
    same_file::is_same_file(one, other).unwrap_or(false)
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// A new file in the folder of `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|it| *it != Path::new(""));
    let mut file = tempfile::Builder::new();
    file.prefix(".quiescent-");
    #[cfg(unix)]
    // The permissions of any new file: those that the umask leaves.
    file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    file.tempfile_in(folder.unwrap_or(Path::new(".")))
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
            Place::Special(path) => (Box::new(File::options().write(true).open(path)?), None),
            Place::File(path) => {
                let new = beside(path)?;
                (Box::new(new.reopen()?), Some((new, path.clone())))
            }
        };
        Ok((Box::new(BufWriter::new(out)), Unfinished(new)))
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        if *self == Place::Output {
            return super::output::print(bytes);
        }
        let (mut out, file) = self.open()?;
        let written = out.write_all(bytes).and_then(|()| out.flush());
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
            Place::File(path) | Place::Special(path) => path.display().to_string(),
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
pub struct Unfinished(Option<(NamedTempFile, PathBuf)>);

impl Unfinished {
    /// It is complete, and its writer was flushed: it takes the place of what was there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn keep(self) -> Result<(), Error> {
        let Some((file, path)) = self.0 else {
            return Ok(());
        };
        let name = path.display().to_string();
        let kept = file.persist(path).map(|_| ());
        kept.map_err(|why| failed(&name, why.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: Kind = Kind {
        option: "--notes",
        what: Some("note"),
        ours: |head| head.starts_with(b"note"),
        without: ", or give no --notes",
    };

    fn refused(path: &Path, permit: Permit) -> String {
        match settle(&NOTES, path, permit) {
            Err(Error::Usage(text)) => text,
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    #[test]
    fn a_foreign_file_stays_unless_forced_and_an_empty_one_or_ours_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.note");
        fs::write(&path, "mine").unwrap();
        let said = refused(&path, Permit::default());
        for part in ["a.note", "--force", "name another file", "give no --notes"] {
            assert!(said.contains(part), "{said}");
        }
        let forced = Permit {
            force: true,
            ..Permit::default()
        };
        for (there, permit) in [
            ("mine", forced),
            ("", Permit::default()),
            ("note", Permit::default()),
        ] {
            fs::write(&path, there).unwrap();
            let place = settle(&NOTES, &path, permit).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), there, "not yet");
            place.write(b"new").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "nothing is left over");
    }

    #[test]
    fn an_input_stays_by_whatever_name_and_even_if_forced() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "note").unwrap();
        fs::hard_link(&real, &link).unwrap();
        for force in [false, true] {
            let permit = Permit {
                force,
                inputs: &[&real],
            };
            for path in [&real, &link] {
                let said = refused(path, permit);
                assert!(said.contains("the input"), "{said}");
            }
        }
    }

    #[test]
    fn what_is_not_kept_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.note");
        fs::write(&path, "note").unwrap();
        let place = settle(&NOTES, &path, Permit::default()).unwrap();
        let (mut out, file) = place.open().unwrap();
        out.write_all(b"half").unwrap();
        out.flush().unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "note");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn places_where_nothing_can_be_are_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = refused(folder.path(), Permit::default());
        assert!(said.contains("this is a folder"), "{said}");
        let said = refused(&folder.path().join("missing/a"), Permit::default());
        assert!(
            said.contains("missing/a") && said.contains("give no --notes"),
            "{said}"
        );
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let said = refused(&file.join("a"), Permit::default());
        assert!(said.contains("cannot be written"), "{said}");
    }

    #[test]
    fn a_link_is_followed_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        settle(&NOTES, &link, Permit::default())
            .unwrap()
            .write(b"note")
            .unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "note");
    }

    #[test]
    fn what_is_no_plain_file_is_written_to() {
        let null = settle(&NOTES, Path::new("/dev/null"), Permit::default()).unwrap();
        assert_eq!(null, Place::Special("/dev/null".into()));
        null.write(b"note").unwrap();
        let output = settle(&NOTES, Path::new("-"), Permit::default()).unwrap();
        assert_eq!(output, Place::Output);
    }
}

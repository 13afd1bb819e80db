//! Where the page of a command goes, settled before anything is measured.
//!
//! A run takes minutes, so whatever would keep the page from being written is found out first: a folder that is not there or
//! not writable, a file that somebody else wrote. A page that we wrote ourselves is written anew; another file never is,
//! unless it is empty. The page appears whole or not at all: it is written beside its place and then moved there. What is no
//! plain file (a pipe, `/dev/null`) is written to as it is.

use quiescent_report::Error;
use quiescent_report::pages;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where the page goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard output.
    Output,
    /// A file, which is there or can be.
    File(PathBuf),
    /// Something that is no plain file.
    Special(PathBuf),
}

/// As much of a file as is read to see who made it.
const HEAD: u64 = 4096;

/// How to have no page: `reproduce` writes one unasked.
const WITHOUT: &str = "or leave the page out (`reproduce --no-html`; other commands: no --html)";

/// Settles the place, and tries whether a file can be made there; `-` is standard output.
pub fn settle(path: &Path) -> Result<Place, Error> {
    if path == Path::new("-") {
        return Ok(Place::Output);
    }
    let refused = |why: &str, remedy: &str| {
        let path = path.display();
        Err(Error::Usage(format!("--html {path}: {why}; {remedy}")))
    };
    // A link is followed: the page goes where it leads, and the link stays.
    let path = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => path.to_path_buf(),
    };
    match fs::metadata(&path) {
        Ok(there) if there.is_dir() => return refused("this is a folder", "name a file in it"),
        Ok(there) if !there.is_file() => return Ok(Place::Special(path)),
        Ok(_) => match may_replace(&path) {
            Ok(true) => {}
            Ok(false) => {
                let remedy = format!(
                    "nothing is overwritten that this program did not write: remove it, name another file, {WITHOUT}"
                );
                return refused("there is a file that is no page of `quiescent`", &remedy);
            }
            Err(why) => {
                let why = format!("the file that is there cannot be read ({why})");
                return refused(&why, &format!("name another file, {WITHOUT}"));
            }
        },
        Err(_) => {}
    }
    match beside(&path) {
        // Dropped, and with it removed.
        Ok(_) => Ok(Place::File(path)),
        Err(why) => {
            let remedy = format!("name a file in a folder that exists and is writable, {WITHOUT}");
            refused(&format!("cannot be written ({why})"), &remedy)
        }
    }
}

/// A file that is empty, or that we wrote.
fn may_replace(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head.is_empty() || pages::is_ours(&String::from_utf8_lossy(&head)))
}

/// A new file in the folder of `path`.
fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix(".quiescent-page-")
        // As any file: what the umask leaves.
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

impl Place {
    /// Writes the page; what to tell about it, if anything.
    pub fn write(&self, page: &str) -> Result<Option<String>, Error> {
        let (path, written) = match self {
            Place::Output => return crate::show::output::print(page.as_bytes()).map(|()| None),
            Place::Special(path) => (path, fs::write(path, page)),
            Place::File(path) => (path, replace(path, page)),
        };
        match written {
            Ok(()) => {
                let size = page.len().div_ceil(1024);
                Ok(Some(format!("page: {} ({size} KiB)", path.display())))
            }
            Err(why) => {
                let what = format!("cannot write the page {}", path.display());
                Err(Error::failed(
                    what,
                    why,
                    "is the disk full, or the folder gone?",
                ))
            }
        }
    }
}

fn replace(path: &Path, page: &str) -> std::io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(page.as_bytes())?;
    file.persist(path).map_err(|why| why.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        match settle(path) {
            Err(Error::Usage(text)) => text,
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    #[test]
    fn a_foreign_file_stays_and_an_empty_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.html");
        fs::write(&path, "<!DOCTYPE html><html><head><title>mine</title>").unwrap();
        let said = refused(&path);
        assert!(
            said.contains("notes.html") && said.contains("name another file"),
            "{said}"
        );
        fs::write(&path, "").unwrap();
        let said = settle(&path).unwrap().write("new").unwrap().unwrap();
        assert!(said.contains("notes.html (1 KiB)"), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left over"
        );
    }

    #[test]
    fn places_where_nothing_can_be_are_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = refused(folder.path());
        assert!(said.contains("this is a folder"), "{said}");
        let said = refused(&folder.path().join("missing/page.html"));
        assert!(
            said.contains("missing/page.html") && said.contains("--no-html"),
            "{said}"
        );
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let said = refused(&file.join("page.html"));
        assert!(said.contains("cannot be written"), "{said}");
    }

    #[test]
    fn a_link_is_followed_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (
            folder.path().join("real.html"),
            folder.path().join("link.html"),
        );
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        settle(&link).unwrap().write("page").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "page");
    }

    #[test]
    fn what_is_no_plain_file_is_written_to() {
        let null = settle(Path::new("/dev/null")).unwrap();
        assert_eq!(null, Place::Special("/dev/null".into()));
        null.write("page").unwrap();
        assert_eq!(settle(Path::new("-")).unwrap(), Place::Output);
    }
}

//! The place of a command's page, checked before anything is measured.
//!
//! A run takes minutes, so every obstacle to writing the page is found first: a folder that does not exist or
//! is not writable, a file of another program. A page of this program is replaced; another file never is,
//! unless it is empty. The page appears complete or not at all: it is written to a new file in the same
//! folder and renamed. A special file (a pipe, `/dev/null`) is written to directly.

use super::file::{self, Place, Unfit};
use quiescent_report::{Error, pages};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Part of the name of the new file.
const KIND: &str = "page";

/// How to have no page: `reproduce` writes one by default.
const WITHOUT: &str = "or leave the page out (`reproduce --no-html`; other commands: no --html)";

/// Checks the place, and tries to make a file there; `-` is standard output.
pub fn settle(path: &Path) -> Result<Place, Error> {
    let refused = |why: &str, remedy: &str| {
        let path = path.display();
        Err(Error::Usage(format!("--html {path}: {why}; {remedy}")))
    };
    let ours = |head: &[u8]| pages::is_ours(&String::from_utf8_lossy(head));
    let place = match file::place(path, ours) {
        Ok(place) => place,
        Err(Unfit::Folder) => return refused("this is a folder", "name a file in it"),
        Err(Unfit::Foreign) => {
            let remedy = format!(
                "nothing is overwritten that this program did not write: remove it, name another file, \
                 {WITHOUT}"
            );
            return refused("the existing file is no page of `quiescent`", &remedy);
        }
        Err(Unfit::Unreadable(why)) => {
            let why = format!("the existing file cannot be read ({why})");
            return refused(&why, &format!("name another file, {WITHOUT}"));
        }
    };
    // Dropped, and so removed.
    if let Place::File(path) = &place
        && let Err(why) = file::beside(path, KIND)
    {
        let remedy = format!("name a file in a folder that exists and is writable, {WITHOUT}");
        return refused(&format!("cannot be written ({why})"), &remedy);
    }
    Ok(place)
}

/// Writes the page; returns a message, if there is one.
pub fn write(place: &Place, page: &str) -> Result<Option<String>, Error> {
    let (path, written) = match place {
        Place::Output => return super::output::print(page.as_bytes()).map(|()| None),
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
                "is the disk full, or the folder removed?",
            ))
        }
    }
}

fn replace(path: &Path, page: &str) -> std::io::Result<()> {
    let mut file = file::beside(path, KIND)?;
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
        let said = write(&settle(&path).unwrap(), "new").unwrap().unwrap();
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
        write(&settle(&link).unwrap(), "page").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "page");
    }

    #[test]
    fn what_is_no_plain_file_is_written_to() {
        let null = settle(Path::new("/dev/null")).unwrap();
        assert_eq!(null, Place::Special("/dev/null".into()));
        write(&null, "page").unwrap();
        assert_eq!(settle(Path::new("-")).unwrap(), Place::Output);
    }
}

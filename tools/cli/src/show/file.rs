//! Files that appear complete or not at all: each is written to a new file in the same folder and renamed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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

/// The reason why a place cannot be written to.
#[derive(Debug)]
pub enum Unfit {
    /// It is a folder.
    Folder,
    /// A file exists that is neither empty nor made by this program.
    Foreign,
    /// A file exists that cannot be read.
    Unreadable(io::Error),
}

/// The number of bytes that are read to recognise a file.
const HEAD: u64 = 4096;

/// The place of a path; `-` is standard output, and a link is followed, so that it stays. `ours` decides by
/// the first bytes whether an existing file may be replaced; an empty one may.
pub fn place(path: &Path, ours: impl Fn(&[u8]) -> bool) -> Result<Place, Unfit> {
    if path == Path::new("-") {
        return Ok(Place::Output);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&path) {
        Ok(there) if there.is_dir() => return Err(Unfit::Folder),
        Ok(there) if !there.is_file() => return Ok(Place::Special(path)),
        Ok(_) => {
            let head = beginning(&path).map_err(Unfit::Unreadable)?;
            if !head.is_empty() && !ours(&head) {
                return Err(Unfit::Foreign);
            }
        }
        Err(_) => {}
    }
    Ok(Place::File(path))
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// A new file in the folder of `path`, for [`NamedTempFile::persist`]. `kind` is in its name.
pub fn beside(path: &Path, kind: &str) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().filter(|it| *it != Path::new(""));
    tempfile::Builder::new()
        .prefix(&format!(".quiescent-{kind}-"))
        // The permissions of any new file: those that the umask leaves.
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
}

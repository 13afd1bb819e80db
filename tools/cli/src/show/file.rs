//! Files that appear whole or not at all: each is written beside its place and then moved there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where something is written.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard output.
    Output,
    /// A file, which is there or can be.
    File(PathBuf),
    /// Something that is no plain file (a pipe, `/dev/null`): it is written to as it is.
    Special(PathBuf),
}

/// Why nothing can be written at a place.
#[derive(Debug)]
pub enum Unfit {
    /// It is a folder.
    Folder,
    /// A file exists that is neither empty nor made by this program.
    Foreign,
    /// A file is there that cannot be read.
    Unreadable(io::Error),
}

/// As much of a file as is read to see whose it is.
const HEAD: u64 = 4096;

/// Where a path leads; `-` is standard output, and a link is followed, so that it stays. `ours` says by its
/// beginning whether a file that is there may be replaced; an empty one may.
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
        // As any file: what the umask leaves.
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
}

//! The place of an output file, from its check to the moment when it appears.
//!
//! In a folder that all may write, such as `/tmp`, others choose what a name leads to: a link there is
//! followed, and a pipe there is opened, only if it belongs to this user or to the folder's owner, as kernels
//! have it with `fs.protected_symlinks`. The folder that was found stays open, and the file is made in it, so
//! that its path may change meanwhile. On Linux a file has no name until it is complete: none is left
//! behind, however the program ends. A file system that cannot do that gets a file with another name, which
//! a killed program leaves.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use tempfile::NamedTempFile;

/// Links that are followed, at most.
const LINKS: u32 = 40;

/// Why a place cannot be used, and what to do.
pub(super) type Refusal = (String, &'static str);

/// The path without links.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, Refusal> {
    let mut real = std::env::current_dir().unwrap_or_default();
    let parts = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().rev();
        parts.map(|it| it.as_os_str().into()).collect()
    };
    let (mut left, mut links) = (parts(path), 0);
    while let Some(part) = left.pop() {
        match part.components().next() {
            None | Some(Component::CurDir) => continue,
            Some(Component::ParentDir) => {
                real.pop();
                continue;
            }
            _ => {}
        }
        let next = real.join(&part);
        let link = fs::symlink_metadata(&next)
            .ok()
            .filter(Metadata::is_symlink);
        let Some((link, to)) = link.zip(fs::read_link(&next).ok()) else {
            real = next;
            continue;
        };
        // What is open has such a name there: `/dev/fd/63`.
        if real.starts_with("/proc") && fs::symlink_metadata(real.join(&to)).is_err() {
            real = next;
            continue;
        }
        links += 1;
        let why = match (links <= LINKS, is_ours(&link, &real)) {
            (true, true) => {
                left.extend(parts(&to));
                continue;
            }
            (false, _) => "too many links".to_owned(),
            _ => format!(
                "{} is another user's link in a folder that all may write",
                next.display()
            ),
        };
        return Err((why, "name a file in a folder of your own"));
    }
    Ok(real)
}

/// Opens what is no file: a pipe waits for its reader here, before signals are caught.
pub(super) fn special(path: &Path, there: &Metadata) -> Result<File, Refusal> {
    let own = "name a file in a folder of your own";
    if !path.parent().is_none_or(|folder| is_ours(there, folder)) {
        let why = "this is another user's pipe or device in a folder that all may write";
        return Err((why.into(), own));
    }
    let opened = File::options().write(true).open(path);
    let file = opened.map_err(|why| (format!("cannot be opened ({why})"), "name another file"))?;
    match file.metadata() {
        Ok(it) if identity(&it) == identity(there) => Ok(file),
        _ => Err(("it has changed while it was opened".into(), own)),
    }
}

#[cfg(unix)]
fn is_ours(entry: &Metadata, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let Ok(folder) = fs::metadata(folder) else {
        return false;
    };
    folder.mode() & 0o002 == 0 || [user, folder.uid()].contains(&entry.uid())
}

#[cfg(unix)]
fn identity(file: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

#[cfg(not(unix))]
fn is_ours(_: &Metadata, _: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn identity(file: &Metadata) -> (u64, u64) {
    use std::os::windows::fs::MetadataExt;
    (file.creation_time(), 0)
}

/// Where a file will be.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Its folder, kept open.
    #[cfg(target_os = "linux")]
    folder: File,
    /// The file that was there when the place was checked.
    before: Option<(u64, u64)>,
    mode: u32,
}

impl Target {
    /// The place of a path without links.
    pub(super) fn new(path: PathBuf, mode: u32) -> io::Result<Target> {
        let before = fs::symlink_metadata(&path).ok();
        #[cfg(target_os = "linux")]
        let folder = {
            use rustix::fs::{Mode, OFlags, open};
            let parent = path.parent().unwrap_or(Path::new("/"));
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = File::from(open(parent, flags, Mode::empty())?);
            // Without /proc nothing can be compared.
            if fs::read_link(opened(&folder)).is_ok_and(|it| it != parent) {
                return Err(io::Error::other("the folder has changed meanwhile"));
            }
            folder
        };
        Ok(Target {
            before: before.as_ref().map(identity),
            mode,
            #[cfg(target_os = "linux")]
            folder,
            path,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, whatever its path is now.
    fn folder(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        if let folder = opened(&self.folder)
            && folder.exists()
        {
            return folder;
        }
        self.path.parent().unwrap_or(Path::new(".")).into()
    }

    /// A new file, which does not appear yet.
    pub(super) fn draft(&self) -> io::Result<Draft> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Mode, OFlags, openat};
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            let mode = Mode::from_bits_truncate(self.mode);
            if let Ok(file) = openat(&self.folder, ".", flags, mode).map(File::from)
                && opened(&file).exists()
            {
                return Ok(Draft::Unnamed(file));
            }
        }
        let mut file = tempfile::Builder::new();
        file.prefix(".quiescent-");
        #[cfg(unix)]
        file.permissions(std::os::unix::fs::PermissionsExt::from_mode(self.mode));
        file.tempfile_in(self.folder()).map(Draft::Named)
    }

    /// Is there what was there when the place was checked?
    fn is_unchanged(&self, path: &Path) -> bool {
        let now = fs::symlink_metadata(path).ok();
        now.as_ref().map(identity) == self.before
    }

    /// The draft becomes the file, unless another one came into being meanwhile.
    pub(super) fn keep(&self, draft: Draft) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        let path = self.folder().join(name);
        let named = match draft {
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) if self.before.is_none() => return link(&file, &path),
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) => {
                let beside = format!(".quiescent-{}", std::process::id());
                let beside = self.folder().join(beside);
                link(&file, &beside)?;
                NamedTempFile::from_parts(file, tempfile::TempPath::try_from_path(beside)?)
            }
            Draft::Named(file) => file,
        };
        let kept = match self.before {
            None => named.persist_noclobber(&path),
            Some(_) if self.is_unchanged(&path) => named.persist(&path),
            Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        };
        kept.map(|_| ()).map_err(|why| why.error)
    }
}

/// A file that does not appear yet.
#[derive(Debug)]
pub enum Draft {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl Draft {
    pub(super) fn file(&self) -> io::Result<File> {
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) => file.try_clone(),
            Draft::Named(file) => file.reopen(),
        }
    }
}

/// The name of an open file.
#[cfg(target_os = "linux")]
fn opened(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives a file without a name one that is not taken.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    linkat(CWD, opened(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

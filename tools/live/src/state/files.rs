//! Small files below a root.
//!
//! All facts about a kernel are read through here, so tests can use an invented tree, and every fact has a
//! path. A file that does not exist or may not be read is no error: containers hide half of `/sys`. The
//! caller handles invalid contents. A link that leaves a copied tree leads to this machine's own files, which
//! say nothing about the copied machine: it counts as a file that does not exist. So does everything but a
//! regular file: a copied tree can have a FIFO, which blocks, or a device, which acts, where a kernel has a
//! file.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest file that is read, so that an endless one cannot block.
const MOST: u64 = 4 << 20;

/// A tree of files: `/`, a copy from another machine, or an invented one in a test.
///
/// ```
/// use quiescent_live::files::{Root, commanded};
///
/// let line = Root::here().line("/proc/cmdline").unwrap_or_default();
/// let offloaded = commanded(&line, "rcu_nocbs"); // what was asked for, if anything
/// # let _ = offloaded;
/// ```
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// The files below `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Root(path.into())
    }

    /// This machine's.
    pub fn here() -> Self {
        Root::new("/")
    }

    /// The path of a file that is named as on the machine itself.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name.trim_start_matches('/'))
    }

    /// The same, unless links lead out of this tree.
    pub(crate) fn inside(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name);
        if self.0 == Path::new("/") {
            return Some(path);
        }
        match (path.canonicalize(), self.0.canonicalize()) {
            (Ok(real), Ok(root)) => real.starts_with(root).then_some(real),
            _ => Some(path), // a read of it finds the same error
        }
    }

    /// All of a file, as text.
    pub fn text(&self, name: &str) -> Option<String> {
        let bytes = bytes(&self.inside(name)?)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first line of a file, without what surrounds it. An empty file has an empty line.
    pub fn line(&self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        Some(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Is there such a file, or folder?
    pub fn has(&self, name: &str) -> bool {
        self.inside(name).is_some_and(|it| it.exists())
    }

    /// The names in a folder, in ascending order; none if it cannot be read.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = self
            .inside(folder)
            .and_then(|it| std::fs::read_dir(it).ok());
        let entries = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|it| it.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// The folders in a folder, likewise.
    pub(crate) fn folders(&self, folder: &str) -> Vec<String> {
        let mut names = self.names(folder);
        names.retain(|it| self.path(&format!("{folder}/{it}")).is_dir());
        names
    }

    /// The kernel's own processes that are visible: number and name.
    pub fn tasks(&self) -> Vec<(u32, String)> {
        let numbers = self.names("/proc").into_iter();
        let numbers = numbers.filter_map(|it| it.parse::<u32>().ok());
        let mut tasks: Vec<(u32, String)> = numbers
            .filter_map(|pid| Some((pid, self.line(&format!("/proc/{pid}/comm"))?)))
            .collect();
        tasks.sort_unstable();
        tasks
    }

    /// The kernel's build configuration and the file that has it.
    pub fn config(&self, release: &str) -> Option<(String, String)> {
        let packed = "/proc/config.gz";
        if let Some(bytes) = self.inside(packed).and_then(|it| bytes(&it)) {
            let mut text = String::new();
            let unpacked = flate2::read::GzDecoder::new(&bytes[..])
                .take(MOST)
                .read_to_string(&mut text);
            if unpacked.is_ok() {
                return Some((text, packed.into()));
            }
        }
        let plain = format!("/boot/config-{release}");
        Some((self.text(&plain)?, plain))
    }
}

fn bytes(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    // It may have been replaced meanwhile.
    let how = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = std::fs::File::options()
        .read(true)
        .custom_flags(how)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The value of `CONFIG_NAME=` in a build configuration; `n` where it says `is not set`.
pub fn configured<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config.lines().find_map(|line| {
        let set = line.strip_prefix(name).and_then(|it| it.strip_prefix('='));
        let unset = || {
            let bare = line.strip_prefix("# ")?.strip_suffix(" is not set")?;
            (bare == name).then_some("n")
        };
        set.map(str::trim).or_else(unset)
    })
}

/// The value of `name=` on a kernel's command line; the last one counts. In names `-` is `_`, as to the
/// kernel.
pub fn commanded<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    for word in line.split_ascii_whitespace() {
        if word == "--" {
            break; // the rest is for the first process
        }
        let (given, value) = word.split_once('=').unwrap_or((word, ""));
        if given.replace('-', "_") == name {
            found = Some(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_configurations_and_command_lines() {
        let config = "CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_RCU_LAZY is not set\n";
        assert_eq!(configured(config, "CONFIG_HZ"), Some("250"));
        assert_eq!(configured(config, "CONFIG_RCU_LAZY"), Some("n"));
        assert_eq!(configured(config, "CONFIG_RCU"), None);
        let line = "quiet rcu_nocbs=1-3 rcutree.x=1 nohz=on nohz=off -- rcutree.x=2";
        assert_eq!(commanded(line, "rcu_nocbs"), Some("1-3"));
        assert_eq!(commanded(line, "quiet"), Some(""));
        assert_eq!(commanded(line, "nohz"), Some("off"));
        assert_eq!(commanded(line, "rcutree.x"), Some("1"));
        assert_eq!(commanded(line, "rcutree.y"), None);
        assert_eq!(commanded("rcu-nocbs=2", "rcu_nocbs"), Some("2"));
    }

    #[test]
    fn links_do_not_lead_out_of_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("cmdline"), "other\n").unwrap();
        std::fs::write(folder.path().join("own"), "own\n").unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join("proc")).unwrap();
        std::os::unix::fs::symlink("own", folder.path().join("link")).unwrap();
        let root = Root::new(folder.path());
        assert_eq!(root.line("/proc/cmdline"), None);
        assert!(!root.has("/proc"));
        assert_eq!(root.names("/proc"), [] as [String; 0]);
        assert_eq!(root.line("/link").as_deref(), Some("own"));
    }

    #[test]
    fn only_regular_files_are_read_and_no_more_of_them_than_the_most() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let fifo = folder.path().join("fifo");
        let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
        // SAFETY: a string that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        // A reader would wait for a writer, and this writer for a reader.
        assert_eq!((root.text("/fifo"), root.line("/fifo")), (None, None));
        assert_eq!(bytes(Path::new("/dev/zero")), None);
        assert_eq!(root.text("/"), None);
        let long = std::fs::File::create(folder.path().join("long")).unwrap();
        long.set_len(1 << 40).unwrap();
        assert_eq!(root.text("/long").unwrap().len() as u64, MOST);
    }
}

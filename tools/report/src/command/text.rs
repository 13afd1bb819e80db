//! A text file that a user names: a workload, a scenario, a table.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The most bytes of a text file. Those of the project have some thousand.
pub const TEXT_MOST: u64 = 1 << 20;

/// Reads a text file of at most [`TEXT_MOST`] bytes; of an endless one no more than that.
///
/// # Errors
/// It cannot be read, is larger, or is no UTF-8.
///
/// ```
/// let why = quiescent_report::read_text("/dev/zero").expect_err("endless").to_string();
/// # #[cfg(unix)]
/// assert_eq!(why, "it has more than 1048576 bytes, and no more are read of it");
/// ```
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    read_text_of(path, TEXT_MOST)
}

/// The same of a text file that may have so many bytes.
///
/// # Errors
/// As [`read_text`].
pub fn read_text_of(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than {most} bytes, and no more are read of it");
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused_and_a_small_one_read() {
        let why = read_text("/dev/zero").expect_err("endless").to_string();
        assert!(why.starts_with("it has more than 1048576 bytes"), "{why}");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(read_text(manifest).expect("a text").contains("[package]"));
    }
}

//! A kernel's version, as far as its defaults depend on it.

use crate::state::files::Root;
use std::fmt;

/// The first two numbers of a release: 6.12 of `6.12.9-made`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl Version {
    /// This version.
    pub const fn new(major: u32, minor: u32) -> Version {
        Version { major, minor }
    }

    /// The version of a release; none if it does not begin with two numbers.
    ///
    /// ```
    /// use quiescent_live::Version;
    ///
    /// assert_eq!(Version::of("7.0-rc3"), Some(Version::new(7, 0)));
    /// assert!(Version::of("6.12.9-made") > Version::of("6.9.0"));
    /// ```
    pub fn of(release: &str) -> Option<Version> {
        let (major, rest) = release.split_once('.')?;
        let digits = rest.find(|it: char| !it.is_ascii_digit());
        let minor = &rest[..digits.unwrap_or(rest.len())];
        Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The file of the release, and the one that has it among other words.
pub(crate) const FILES: [&str; 2] = ["/proc/sys/kernel/osrelease", "/proc/version"];

/// The release, and the file that has it.
pub(crate) fn release(root: &Root) -> Option<(String, &'static str)> {
    let [own, sentence] = FILES;
    let found = root.line(own).map(|it| (it, own));
    let found = found.filter(|it| !it.0.is_empty()).or_else(|| {
        let line = root.line(sentence)?;
        let word = line.strip_prefix("Linux version ")?.split(' ').next()?;
        Some((word.to_owned(), sentence))
    });
    found.filter(|it| !it.0.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_releases() {
        let of = |release| Version::of(release).map(|it| it.to_string());
        assert_eq!(of("6.12").as_deref(), Some("6.12"));
        assert_eq!(of("5.15.104-android13-8").as_deref(), Some("5.15"));
        for none in ["", "unknown", "6", "6.", "x.1"] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}

//! Where the kernel describes its events, and whether they may be read.

use crate::state::files::Root;
use std::io::ErrorKind;

/// Where tracefs is mounted: by itself, or, on older systems, inside debugfs.
pub(crate) const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Tracing, as far as it is visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Readable.
    At(&'static str),
    /// It may exist, and may not be read; root may.
    Forbidden(&'static str),
    /// The folder on which it is mounted is empty.
    NotMounted(&'static str),
    /// There is no such folder: a kernel without tracing, or files that were not copied.
    Absent,
}

/// Looks for it.
pub(crate) fn place(root: &Root) -> Place {
    let mut found = Place::Absent;
    for place in PLACES {
        let Some(events) = root.inside(&format!("{place}/events")) else {
            continue;
        };
        match std::fs::read_dir(&events) {
            Ok(_) => return Place::At(place),
            Err(why) if why.kind() == ErrorKind::PermissionDenied && found == Place::Absent => {
                found = Place::Forbidden(place);
            }
            Err(_) if found == Place::Absent && root.path(place).is_dir() => {
                found = Place::NotMounted(place);
            }
            Err(_) => {}
        }
    }
    found
}

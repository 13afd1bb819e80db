//! Readers: words, records, and where they are found.

pub(crate) mod bitmap;
pub(crate) mod counted;
pub(crate) mod record;
pub(crate) mod spots;
pub(crate) mod table;
pub(crate) mod threads;
pub(crate) mod word;

//! Readers: words, records, and their tables.

pub mod bitmap;
pub mod counted;
pub mod foreign;
pub mod holdout;
pub mod local;
pub mod mode;
pub mod records;
pub mod registration;
pub mod set;
pub mod table;
pub mod tally;
pub mod threads;
pub mod unregistered;
pub mod word;
pub mod words;

//! The one form of all output: rows, text tables, verdicts, HTML pages.
//!
//! A command fills a [`Report`] with [`Row`]s. The same report is printed as one line of JSON, as text
//! tables, and as a page with bars, so the three cannot differ. The crate imports no other crate of the
//! project.
//!
//! | folder | job |
//! |---|---|
//! | [`command`] | errors, a stop flag and progress, time and command of a run, text files of bounded size |
//! | [`rows`] | [`Report`] and [`Row`] (JSON schema `quiescent/1`), the machine, statistics over samples |
//! | [`text`] | text tables, and figures with a fixed number of digits |
//! | [`verdict`] | targets: a figure, its bound, met or not |
//! | [`pages`] | the page of HTML of any report |
//!
//! Each folder imports only those above it in the table.
//!
//! ```
//! use quiescent_report::{Report, Row};
//!
//! let mut report = Report::new("bench read", 1);
//! report.rows.push(Row::of("quiescent", "empty", "cpu_ns", "ns/pair", &[1.4, 1.3, 1.9]).unwrap());
//! let text = report.to_json();
//! assert_eq!(Report::from_json(&text).unwrap().rows[0].median, 1.4);
//! ```

pub mod command;
pub mod pages;
pub mod rows;
pub mod text;
pub mod verdict;

pub use command::{Control, Error, Occasion, Progress, Silent, read_text};
pub use rows::{OURS, Report, Row};

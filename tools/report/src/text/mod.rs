//! Text output: figures, tables, and tables made from the rows of a report.

pub mod cases;
pub mod number;
pub mod table;

pub use table::Table;

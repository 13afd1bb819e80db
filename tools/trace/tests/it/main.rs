//! The reader and the analyses on whole files, held against figures that another program has computed.

mod analyses;
mod dat;
mod fields;
mod figures;
mod forms;
mod perfetto;
mod slow;
mod text;

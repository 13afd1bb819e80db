//! Values of options: each is checked when the command line is read, and refused with the accepted range.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::PathBuf;

/// A page's name, of any bytes but none.
pub(super) fn page_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| match name.is_empty() {
        true => Err(
            "no name: give a file or `-` for standard output, or leave the page out \
             (`reproduce --no-html`; other commands: no --html)",
        ),
        false => Ok(PathBuf::from(name)),
    })
}

pub(super) fn count(text: &str, most: u64, advice: &str) -> Result<u64, String> {
    match text.parse::<u128>() {
        Ok(0) => Err(format!("0 would measure nothing: {advice}")),
        Ok(count) if count <= u128::from(most) => Ok(count as u64),
        Ok(_) => Err(format!("too many: {advice}")),
        Err(_) => Err(format!("not a count: {advice}")),
    }
}

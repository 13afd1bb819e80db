//! Values of options: each is checked when the command line is read, and refused with the accepted range.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

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

/// A number in this range; another one is refused with the advice.
pub(super) fn within<T: FromStr + PartialOrd + Clone + Send + Sync + 'static>(
    range: RangeInclusive<T>,
    advice: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse::<T>() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) => Err(format!("out of range: {advice}")),
        Err(_) => Err(format!("no such number: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_reason() {
        let time = within(0.1..=3600.0, "give 0.1 to 3600");
        assert_eq!((time("0.5"), time("3600")), (Ok(0.5), Ok(3600.0)));
        for text in ["0", "-1", "NaN", "inf", "3601", "soon", ""] {
            let why = time(text).expect_err(text);
            assert!(why.contains("give 0.1 to 3600"), "{text}: {why}");
        }
        for text in ["0", "100001", "-1", "x", "99999999999999999999"] {
            let why = within(1..=100_000_u64, "give 1 to 100000")(text).expect_err(text);
            assert!(why.contains("give 1 to 100000"), "{text}: {why}");
        }
    }
}

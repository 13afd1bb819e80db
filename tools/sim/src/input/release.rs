//! A kernel's version: the two numbers that decide what it has.

use std::fmt;

/// A release of Linux; the later one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Release(pub u16, pub u16);

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl TryFrom<String> for Release {
    type Error = String;

    fn try_from(text: String) -> Result<Release, String> {
        let parts = text.split_once('.');
        let read = parts.and_then(|(a, b)| Some(Release(a.parse().ok()?, b.parse().ok()?)));
        read.ok_or_else(|| format!("`{text}`: give a version such as 6.12"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_the_order_of_their_numbers() {
        let all = [Release(6, 1), Release(6, 9), Release(6, 12), Release(7, 0)];
        assert!(all.is_sorted());
        assert_eq!(all.map(|it| it.to_string()), ["6.1", "6.9", "6.12", "7.0"]);
    }
}

//! The options of a measurement: each says what it accepts, for the command line and for callers alike.

use crate::subjects::pool::MOST_THREADS;
use serde_json::Value;

/// How the value of an option is written, and what it is in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is given, or not.
    Flag,
    /// A whole number.
    Count,
    /// Whole numbers with commas in between.
    Counts,
    /// Seconds, with a fraction or without; in the report, and here, in ms.
    Seconds,
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name in reports.
    pub name: &'static str,
    /// Its name on the command line, without dashes; empty when only callers set it.
    pub option: &'static str,
    /// What follows it, in the help: `N`.
    pub value: &'static str,
    /// How it is written.
    pub kind: Kind,
    /// Its value when it is left out, as one would write it.
    pub default: &'static str,
    /// The least and the most; seconds in ms.
    pub range: (u64, u64),
    /// What else is good to know about the range.
    pub advice: &'static str,
}

impl Setting {
    /// A number, 1 to `most`.
    pub const fn count(name: &'static str, default: &'static str, most: u64) -> Self {
        Setting {
            name,
            option: name,
            value: "N",
            kind: Kind::Count,
            default,
            range: (1, most),
            advice: "",
        }
    }

    /// Several numbers.
    pub const fn counts(name: &'static str, default: &'static str, range: (u64, u64)) -> Self {
        Setting {
            value: "N,…",
            kind: Kind::Counts,
            range,
            advice: ", with commas in between",
            ..Setting::count(name, default, 1)
        }
    }

    /// A switch.
    pub const fn flag(name: &'static str) -> Self {
        Setting {
            kind: Kind::Flag,
            range: (0, 1),
            ..Setting::count(name, "0", 1)
        }
    }

    /// Seconds to an hour, which are `name` in reports, in ms.
    pub const fn seconds(name: &'static str, option: &'static str, default: &'static str) -> Self {
        Setting {
            option,
            value: "S",
            kind: Kind::Seconds,
            ..Setting::count(name, default, 3_600_000)
        }
    }

    /// The same with another name on the command line.
    pub const fn named(self, option: &'static str) -> Self {
        Setting { option, ..self }
    }

    /// The same with this after the range.
    pub const fn advice(self, advice: &'static str) -> Self {
        Setting { advice, ..self }
    }

    /// Reads one number of it.
    ///
    /// # Errors
    /// A text with the accepted range.
    pub fn parse(&self, text: &str) -> Result<u64, String> {
        let wrong = |what: &str| Err(format!("{what}: {}", self.remedy()));
        let (least, most) = self.range;
        if self.kind == Kind::Seconds {
            return match text.parse::<f64>() {
                Ok(seconds) if (least as f64..=most as f64).contains(&(seconds * 1e3)) => {
                    Ok((seconds * 1e3) as u64)
                }
                Ok(_) => wrong("too little or too much"),
                Err(_) => wrong("not a time"),
            };
        }
        match text.parse::<u128>() {
            Ok(0) if least > 0 => wrong("0 would measure nothing"),
            Ok(count) if count <= u128::from(most) => Ok(count as u64),
            Ok(_) => wrong("too many"),
            Err(_) => wrong("not a count"),
        }
    }

    /// All numbers of its default.
    pub(super) fn usual(&self) -> Vec<u64> {
        let each = self.default.split(',').map(|it| self.parse(it));
        each.collect::<Result<_, _>>()
            .expect("a default is in its range")
    }

    /// What to give.
    pub(super) fn remedy(&self) -> String {
        let ((least, most), advice) = (self.range, self.advice);
        match self.kind {
            Kind::Seconds => format!("give {} to {} seconds", least as f64 / 1e3, most / 1_000),
            _ => format!("give {least} to {most}{advice}"),
        }
    }

    /// The value in a report.
    pub(super) fn reported(&self, values: &[u64]) -> Value {
        match self.kind {
            Kind::Flag => (values[0] != 0).into(),
            Kind::Counts => values.to_vec().into(),
            Kind::Count | Kind::Seconds => values[0].into(),
        }
    }
}

/// `--compare`.
pub const fn compare() -> Setting {
    Setting::flag("compare")
}

/// `--rounds`.
pub const fn rounds(default: &'static str) -> Setting {
    Setting::count("rounds", default, 100_000).advice("; 30 or more for figures worth quoting")
}

/// A number of threads.
pub const fn threads(name: &'static str, default: &'static str) -> Setting {
    Setting::count(name, default, MOST_THREADS as u64)
}

/// `--calls`: as many latencies as a round can keep in memory cheaply.
pub const fn calls(default: &'static str) -> Setting {
    Setting::count("calls", default, 1_000_000).advice("; the 99th percentile needs 100 or more")
}

/// `--objects`: with more, a library that frees nothing would need more than 64 GiB.
pub const fn objects(default: &'static str) -> Setting {
    let advice = "; 1000000 or more for figures worth quoting";
    Setting::count("objects", default, 1_000_000_000).advice(advice)
}

/// Milliseconds, to 10 minutes.
pub const fn milliseconds(
    name: &'static str,
    option: &'static str,
    default: &'static str,
) -> Setting {
    Setting {
        option,
        value: "MS",
        ..Setting::count(name, default, 600_000)
    }
    .advice(", in ms; 300 or more for figures worth quoting")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_values_come_with_a_remedy() {
        let count = threads("threads", "1");
        for text in [
            "0",
            "1000000000000",
            "-1",
            "many",
            "99999999999999999999999999999999999999999",
        ] {
            let error = count.parse(text).unwrap_err();
            assert!(error.contains("give 1 to 1024"), "{text}: {error}");
        }
        assert_eq!((count.parse("1024"), count.usual()), (Ok(1024), vec![1]));
        let rates = Setting::counts("rates", "0,10", (0, 100));
        assert_eq!((rates.parse("0"), rates.usual()), (Ok(0), vec![0, 10]));
        let time = Setting::seconds("ms", "seconds", "0.5");
        assert_eq!((time.parse("20"), time.usual()), (Ok(20_000), vec![500]));
        for text in ["0", "-1", "3601", "NaN", "inf", "soon", ""] {
            let error = time.parse(text).unwrap_err();
            assert!(
                error.contains("give 0.001 to 3600 seconds"),
                "{text}: {error}"
            );
        }
    }
}

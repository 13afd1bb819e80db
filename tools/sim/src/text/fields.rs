//! The fields of a task, by meaning: a value, or the parameter that `$name` stands for.
//!
//! A wrong value that stands in the file is an error with its line and column; a wrong value of a parameter
//! that the command line has set is an error about that parameter.

use std::cell::RefCell;

use super::file::{File, Parameter, Texts};
use crate::base::error::{Error, is_near, nearest};
use crate::text::values::{cpu_list, number, switch, time};
use quiescent_kernel::CpuId;

/// Some fields, and what is needed to understand them.
pub(crate) struct Fields<'a> {
    pub file: &'a File,
    /// Where they begin.
    pub at: usize,
    pub fields: &'a Texts,
    pub parameters: &'a [Parameter],
    /// Parameters that were set otherwise than the file says.
    pub sets: &'a [(&'a str, &'a str)],
    pub cpus: u32,
    /// The names of fields that were looked for.
    pub asked: RefCell<Vec<&'static str>>,
}

/// Where tasks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// By turns on these.
    These(Vec<CpuId>),
    /// Wherever chance has it.
    Any,
    /// Where the grace-period thread starts.
    GpCpu,
}

impl Fields<'_> {
    /// An error about this section.
    pub fn wrong(&self, why: String) -> Error {
        self.file.wrong(self.at, why)
    }

    /// Refuses fields that nothing has looked for.
    pub fn check_names(&self) -> Result<(), Error> {
        let known = self.asked.borrow();
        let other = self.fields.keys().find(|it| !known.contains(&it.as_str()));
        other.map_or(Ok(()), |key| {
            Err(self.no_field(key, &nearest(key, known.iter().copied())))
        })
    }

    fn no_field(&self, key: &str, near: &str) -> Error {
        let why = format!("`{key}` is no field here; did you mean `{near}`?");
        self.file.wrong(self.fields[key].span().start, why)
    }

    /// The text of a field.
    pub fn text(&self, key: &'static str) -> Result<Option<String>, Error> {
        self.read(key, "a text", |it| Some(it.to_owned()))
    }

    /// The text of a field that has to be there.
    pub fn need(&self, key: &'static str) -> Result<String, Error> {
        let text = self.text(key)?;
        let asked = self.asked.borrow();
        let other = |it: &&String| is_near(it, key) && !asked.contains(&it.as_str());
        let meant = || self.fields.keys().find(other);
        text.ok_or_else(|| match meant() {
            Some(other) => self.no_field(other, key),
            None => self.wrong(format!("`{key}` is missing here")),
        })
    }

    /// One of some words.
    pub fn word(&self, key: &'static str, words: &[&str]) -> Result<Option<usize>, Error> {
        let allowed = words.join(", ");
        self.read(key, &allowed, |it| {
            words.iter().position(|word| *word == it)
        })
    }

    /// A number.
    pub fn count(&self, key: &'static str, default: u64) -> Result<u64, Error> {
        let allowed = "a number, up to 1000000000";
        let most = 1_000_000_000;
        let read = self.read(key, allowed, |it| number(it).filter(|it| *it <= most))?;
        Ok(read.unwrap_or(default))
    }

    /// A switch.
    pub fn flag(&self, key: &'static str, default: bool) -> Result<bool, Error> {
        Ok(self.read(key, "1 or 0", switch)?.unwrap_or(default))
    }

    /// A time, in nanoseconds.
    pub fn time(&self, key: &'static str, default: u64) -> Result<u64, Error> {
        let day = 86_400_000_000_000;
        let read = |it: &str| match it {
            "0" => Some(0),
            it => time(it).filter(|it| *it <= day),
        };
        let read = self.read(key, "a time such as 10ms, up to a day", read)?;
        Ok(read.unwrap_or(default))
    }

    /// A rate a second, as nanoseconds between two; 0 if none ever comes.
    pub fn rate(&self, key: &'static str) -> Result<u64, Error> {
        let allowed = "a number a second, such as 100 or 0.5, up to 1000000";
        let read = self.read(key, allowed, |it| {
            // In thousandths: `0.5` is 500.
            let (whole, part) = it.split_once('.').unwrap_or((it, "0"));
            let digits = part.bytes().all(|it| it.is_ascii_digit());
            let part = part.get(..part.len().min(3)).filter(|_| digits)?;
            let whole = number::<u64>(whole).filter(|it| *it <= 1_000_000)?;
            let thousandths = whole * 1000 + format!("{part:0<3}").parse::<u64>().ok()?;
            Some(1_000_000_000_000u64.checked_div(thousandths).unwrap_or(0))
        })?;
        read.ok_or_else(|| self.wrong(format!("`{key}` is missing here")))
    }

    /// Where tasks run.
    pub fn cpus(&self, key: &'static str) -> Result<Cpus, Error> {
        let allowed = format!(
            "`any`, `gp` (where the grace-period thread starts), `none`, or a list of CPUs up to {}",
            self.cpus - 1
        );
        let read = self.read(key, &allowed, |it| match it {
            "any" => Some(Cpus::Any),
            "gp" => Some(Cpus::GpCpu),
            it => cpu_list(it, self.cpus).map(Cpus::These),
        })?;
        Ok(read.unwrap_or(Cpus::Any))
    }

    /// What a text stands for: the value of a parameter, if it is `$name`, or itself.
    pub fn meant<'t>(&'t self, text: &'t str, at: usize) -> Result<&'t str, Error> {
        let Some(name) = text.strip_prefix('$') else {
            return Ok(text);
        };
        let it = self.parameter(name, at)?;
        Ok(self.set(it).unwrap_or_else(|| it.value()))
    }

    /// What a parameter was set to.
    fn set(&self, it: &Parameter) -> Option<&str> {
        let last = self.sets.iter().rev().find(|set| set.0 == it.name);
        last.map(|it| it.1)
    }

    fn parameter(&self, name: &str, at: usize) -> Result<&Parameter, Error> {
        let found = self.parameters.iter().find(|it| it.name == name);
        found.ok_or_else(|| {
            let near = nearest(name, self.parameters.iter().map(|it| it.name.as_str()));
            let why = format!("`${name}`: no such parameter; did you mean `${near}`?");
            self.file.wrong(at, why)
        })
    }

    /// The field's value, if it is there; an error that says what is allowed if `read` makes nothing of it.
    fn read<T>(
        &self,
        key: &'static str,
        allowed: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        self.asked.borrow_mut().push(key);
        let Some(field) = self.fields.get(key) else {
            return Ok(None);
        };
        let (mut at, mut value) = (field.span().start, field.get_ref().0.as_str());
        if let Some(name) = value.strip_prefix('$') {
            let it = self.parameter(name, at)?;
            if let Some(value) = self.set(it) {
                let wrong = || Error::value(name, value, allowed);
                return read(value).map(Some).ok_or_else(wrong);
            }
            (at, value) = (it.value.span().start, it.value());
        }
        let wrong = || {
            let why = format!("`{key} = {value}`: {key} takes {allowed}");
            self.file.wrong(at, why)
        };
        read(value).map(Some).ok_or_else(wrong)
    }
}

//! Files in TOML, read by `serde`; every error has the line and the column.
//!
//! The values of a workload stay text here. What a field may hold depends on the work it belongs to and on
//! parameters that the command line may change, so that is looked at later ([`fields`](super::fields)), and
//! an error can still say where.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use toml::Spanned;

use crate::base::error::{Error, nearest};
use crate::text::values::time;

/// Fields by their names.
pub(crate) type Texts = BTreeMap<String, Spanned<Text>>;

/// A parameter of a workload: a name, its value, what it is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name: `--set name=…` changes it, and `$name` stands for it in the file.
    #[serde(skip)]
    pub name: String,
    pub(crate) value: Spanned<Text>,
    /// What it is.
    pub about: String,
}

impl Parameter {
    /// Its value, as text.
    pub fn value(&self) -> &str {
        &self.value.get_ref().0
    }
}

/// A task, or several of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub fields: Texts,
    pub callbacks: Vec<Spanned<Texts>>,
    pub steps: Vec<Spanned<Text>>,
}

/// What stands in a workload's file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    about: Option<Spanned<Text>>,
    seconds: Option<Spanned<Text>>,
    until: Option<Spanned<Text>>,
    warm_up: Option<Spanned<Text>>,
    /// The same four, as far as they are there.
    #[serde(skip)]
    pub top: Texts,
    #[serde(default)]
    pub assumes: Vec<String>,
    #[serde(default)]
    pub fitted: Vec<String>,
    #[serde(default)]
    pub machine: Texts,
    #[serde(default, deserialize_with = "named")]
    pub parameters: Vec<Parameter>,
    #[serde(default, rename = "task")]
    pub tasks: Vec<Spanned<Section>>,
}

/// Parameters, in the order of the file.
fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Parameter>, D::Error> {
    let all = BTreeMap::<String, Parameter>::deserialize(from)?.into_iter();
    let mut all: Vec<Parameter> = all.map(|(name, it)| Parameter { name, ..it }).collect();
    all.sort_by_key(|it| it.value.span().start);
    Ok(all)
}

impl<'de> Deserialize<'de> for Section {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Section, D::Error> {
        struct Task;
        impl<'de> Visitor<'de> for Task {
            type Value = Section;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a section: [[task]]")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Section, A::Error> {
                let mut it = Section::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "callbacks" => it.callbacks = map.next_value()?,
                        "steps" => it.steps = map.next_value()?,
                        _ => drop(it.fields.insert(key, map.next_value()?)),
                    }
                }
                Ok(it)
            }
        }
        from.deserialize_map(Task)
    }
}

/// A text, a number or a switch, as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
        Ok(Text(match toml::Value::deserialize(from)? {
            toml::Value::String(it) => it,
            toml::Value::Boolean(it) => u8::from(it).to_string(),
            toml::Value::Integer(it) => it.to_string(),
            toml::Value::Float(it) => it.to_string(),
            other => {
                let given = other.type_str();
                return Err(D::Error::custom(format!(
                    "{given} found: give a text or a number"
                )));
            }
        }))
    }
}

/// A time such as `10ms`, in nanoseconds.
pub(crate) fn nanoseconds<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let Text(given) = Text::deserialize(from)?;
    let read = if given == "0" { Some(0) } else { time(&given) };
    read.filter(|it| *it <= 86_400_000_000_000).ok_or_else(|| {
        D::Error::custom(format!("`{given}`: give a time such as 10ms, up to a day"))
    })
}

/// A file: its name, for errors, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub name: String,
    pub text: String,
}

impl File {
    /// The file of this name that is part of the program, or the file of this path.
    ///
    /// # Errors
    /// If it is neither: why the path cannot be read.
    pub fn find(folder: &str, path: &Path, built_in: BuiltIn) -> Result<File, String> {
        let name = path.to_string_lossy();
        let (name, text) = match built_in.iter().find(|it| it.0 == name) {
            Some(it) => (format!("data/{folder}/{name}.toml"), it.1.to_owned()),
            None => {
                let text = quiescent_report::read_text(path).map_err(|why| why.to_string())?;
                (name.into_owned(), text)
            }
        };
        Ok(File { name, text })
    }

    /// Its contents.
    ///
    /// # Errors
    /// If it is no TOML, or something else.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        toml::from_str(&self.text).map_err(|why| {
            let at = why.span().map_or(0, |it| it.start);
            let said = why.message();
            // `serde` says which names there are, in backquotes.
            let names: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
            let near = match &names[..] {
                [wrong, known @ ..] if said.starts_with("unknown field") && !known.is_empty() => {
                    format!(
                        "; did you mean `{}`?",
                        nearest(wrong, known.iter().copied())
                    )
                }
                _ if said.ends_with("map, expected a sequence") => {
                    "; write [[…]], and not […]".into()
                }
                _ => String::new(),
            };
            self.wrong(at, format!("{said}{near}"))
        })
    }

    /// The contents of a workload.
    ///
    /// # Errors
    /// If it is no TOML, or something else.
    pub fn workload(&self) -> Result<Contents, Error> {
        let mut it: Contents = self.read()?;
        if it.assumes.is_empty() {
            let why = "a workload says what it assumes: assumes = [\"…\"]";
            return Err(self.wrong(0, why.into()));
        }
        if it.tasks.is_empty() {
            return Err(self.wrong(0, "a workload has a task: [[task]]".into()));
        }
        let top = [
            ("about", it.about.take()),
            ("seconds", it.seconds.take()),
            ("until", it.until.take()),
            ("warm_up", it.warm_up.take()),
        ];
        let given = top
            .into_iter()
            .filter_map(|(key, it)| Some((key.to_owned(), it?)));
        it.top = given.collect();
        Ok(it)
    }

    /// The error at this byte.
    pub fn wrong(&self, at: usize, why: String) -> Error {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let begin = before.rfind('\n').map_or(0, |it| it + 1);
        Error::File {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[begin..].chars().count() + 1,
            why,
        }
    }
}

/// Files of `data` that are part of the program: names and texts.
pub(crate) type BuiltIn = &'static [(&'static str, &'static str)];

/// Their names, for errors.
pub(crate) fn names(all: BuiltIn) -> String {
    all.iter().map(|it| it.0).collect::<Vec<_>>().join(", ")
}

/// Files of a folder of `data`, by their names.
macro_rules! built_in {
    ($folder:literal: $($name:literal)+) => {
        &[$(($name, include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"), "/../../data/", $folder, "/", $name, ".toml"
        )))),+]
    };
}
pub(crate) use built_in;

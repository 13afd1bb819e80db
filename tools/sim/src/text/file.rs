//! A workload's file: read, every value kept with its line and column.
//!
//! The values stay text here. What a field may hold depends on the work it belongs to and on parameters that
//! the command line may change, so that is looked at later ([`fields`](super::fields)), and an error can
//! still say where.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::error::{Error, nearest};

/// A key with its value as text, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub key: String,
    pub value: String,
    pub place: Place,
}

/// A line and a column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: usize,
    pub column: usize,
}

/// A parameter of a workload: a name, its value, what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: `--set name=…` changes it, and `$name` stands for it in the file.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// What it is.
    pub about: String,
    pub(crate) place: Place,
}

/// A task, or several of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub place: Place,
    pub fields: Vec<Field>,
    pub callbacks: Vec<Vec<Field>>,
}

/// What stands in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub top: Vec<Field>,
    pub assumes: Vec<String>,
    pub fitted: Vec<String>,
    pub machine: Vec<Field>,
    pub parameters: Vec<Parameter>,
    pub tasks: Vec<Section>,
}

const TOP: [&str; 9] = [
    "about",
    "assumes",
    "fitted",
    "seconds",
    "until",
    "warm_up",
    "machine",
    "parameters",
    "task",
];

/// Reads `text`, which is the file `name`.
pub(crate) fn read(name: &str, text: &str) -> Result<Contents, Error> {
    Reader { name, text }.contents()
}

pub(crate) struct Reader<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl Reader<'_> {
    pub fn parse(&self) -> Result<Spanned<DeTable<'_>>, Error> {
        DeTable::parse(self.text).map_err(|why| {
            let at = why.span().map_or(0, |it| it.start);
            self.wrong(at, why.message().to_owned())
        })
    }

    fn contents(&self) -> Result<Contents, Error> {
        let table = self.parse()?;
        let mut it = Contents::default();
        for (key, value) in table.get_ref() {
            let at = value.span().start;
            match key.get_ref().as_ref() {
                "assumes" => it.assumes = self.sentences("assumes", value)?,
                "fitted" => it.fitted = self.sentences("fitted", value)?,
                "machine" => it.machine = self.fields(self.table("machine", value)?)?,
                "parameters" => it.parameters = self.parameters(value)?,
                "task" => it.tasks = self.tasks(value)?,
                name if TOP.contains(&name) => it.top.push(self.field(key, value)?),
                name => {
                    let near = nearest(name, TOP.into_iter());
                    let why = format!("`{name}` is no part of a workload; did you mean `{near}`?");
                    return Err(self.wrong(key.span().start.min(at), why));
                }
            }
        }
        if it.assumes.is_empty() {
            let why = "a workload says what it assumes: assumes = [\"…\"]";
            return Err(self.wrong(0, why.into()));
        }
        if it.tasks.is_empty() {
            return Err(self.wrong(0, "a workload has a task: [[task]]".into()));
        }
        Ok(it)
    }

    fn parameters(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Parameter>, Error> {
        let mut found = Vec::new();
        for (key, value) in self.table("parameters", value)? {
            let name = key.get_ref().to_string();
            let fields = self.fields(self.table(&name, value)?)?;
            let field = |name: &str| fields.iter().find(|it| it.key == name);
            let (Some(set), Some(about)) = (field("value"), field("about")) else {
                let why = format!("write {name} = {{ value = …, about = \"…\" }}");
                return Err(self.wrong(value.span().start, why));
            };
            if let Some(other) = fields
                .iter()
                .find(|it| !["value", "about"].contains(&it.key.as_str()))
            {
                let why = format!(
                    "`{}` is no part of a parameter: value and about are",
                    other.key
                );
                return Err(self.wrong(value.span().start, why));
            }
            found.push(Parameter {
                name,
                value: set.value.clone(),
                about: about.value.clone(),
                place: set.place,
            });
        }
        found.sort_by_key(|it| (it.place.line, it.place.column));
        Ok(found)
    }

    fn tasks(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Section>, Error> {
        let mut found = Vec::new();
        for task in self.array("task", value, "write [[task]]")? {
            let mut section = Section {
                place: self.place(task.span().start),
                fields: Vec::new(),
                callbacks: Vec::new(),
            };
            for (key, value) in self.table("task", task)? {
                if key.get_ref() != "callbacks" {
                    section.fields.push(self.field(key, value)?);
                    continue;
                }
                let advice = "write callbacks = [{ func = \"…\" }]";
                for callback in self.array("callbacks", value, advice)? {
                    let fields = self.fields(self.table("callbacks", callback)?)?;
                    section.callbacks.push(fields);
                }
            }
            found.push(section);
        }
        Ok(found)
    }

    pub fn fields(&self, table: &DeTable<'_>) -> Result<Vec<Field>, Error> {
        let field = |(key, value): (&Spanned<_>, &_)| self.field(key, value);
        table.iter().map(field).collect()
    }

    pub fn field(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Field, Error> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(switch) => u8::from(*switch).to_string(),
            other => {
                let why = format!(
                    "`{}` is {}: give a text or a number",
                    key.get_ref(),
                    a(other)
                );
                return Err(self.wrong(value.span().start, why));
            }
        };
        Ok(Field {
            key: key.get_ref().to_string(),
            value: text,
            place: self.place(value.span().start),
        })
    }

    pub fn sentences(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<String>, Error> {
        let advice = format!("write {name} = [\"…\"]");
        let mut all = Vec::new();
        for sentence in self.array(name, value, &advice)? {
            let Some(text) = sentence.get_ref().as_str() else {
                let why = format!("`{name}` has {} in it: {advice}", a(sentence.get_ref()));
                return Err(self.wrong(sentence.span().start, why));
            };
            all.push(text.to_owned());
        }
        Ok(all)
    }

    pub fn table<'t, 'i>(
        &self,
        name: &str,
        value: &'t Spanned<DeValue<'i>>,
    ) -> Result<&'t DeTable<'i>, Error> {
        value.get_ref().as_table().ok_or_else(|| {
            let why = format!("`{name}` is {} and not a table", a(value.get_ref()));
            self.wrong(value.span().start, why)
        })
    }

    pub fn array<'t, 'i>(
        &self,
        name: &str,
        value: &'t Spanned<DeValue<'i>>,
        advice: &str,
    ) -> Result<impl Iterator<Item = &'t Spanned<DeValue<'i>>>, Error> {
        let array = value.get_ref().as_array().ok_or_else(|| {
            let why = format!("`{name}` is {}: {advice}", a(value.get_ref()));
            self.wrong(value.span().start, why)
        })?;
        Ok(array.iter())
    }

    pub fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let begin = before.rfind('\n').map_or(0, |it| it + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[begin..].chars().count() + 1,
        }
    }

    pub fn wrong(&self, at: usize, why: String) -> Error {
        self.place(at).wrong(self.name, why)
    }
}

/// What a value is, in words.
fn a(value: &DeValue<'_>) -> String {
    match value.type_str() {
        name if name.starts_with(['a', 'i']) => format!("an {name}"),
        name => format!("a {name}"),
    }
}

impl Place {
    /// The error at this place.
    pub fn wrong(self, file: &str, why: String) -> Error {
        Error::File {
            file: file.into(),
            line: self.line,
            column: self.column,
            why,
        }
    }
}

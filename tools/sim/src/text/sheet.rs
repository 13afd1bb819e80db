//! Other data files of the same form: fields, sentences, and sections of fields, each with its line and
//! column.
//!
//! The permitted contents of a sheet are its [`Form`]; its reader takes the values out as it needs them
//! ([`Fields`]).

use super::fields::Fields;
use super::file::{Field, Place, Reader};
use crate::base::error::{Error, nearest};

/// What a kind of file may contain.
#[derive(Debug)]
pub(crate) struct Form {
    /// What the file is, for errors: `a table of idle states`.
    pub what: &'static str,
    /// Fields of the whole file.
    pub top: &'static [&'static str],
    /// Lists of sentences.
    pub lists: &'static [&'static str],
    /// Sections: `[[name]]`.
    pub sections: &'static [&'static str],
}

/// What stands in a file.
#[derive(Debug)]
pub(crate) struct Sheet {
    file: String,
    top: Vec<Field>,
    lists: Vec<(String, Vec<String>)>,
    sections: Vec<(String, Place, Vec<Field>)>,
}

impl Sheet {
    /// Reads `text`, which is the file `file`.
    ///
    /// # Errors
    /// If it is no TOML, or not of the form.
    pub fn read(file: &str, text: &str, form: &Form) -> Result<Sheet, Error> {
        let reader = Reader { name: file, text };
        let table = reader.parse()?;
        let mut it = Sheet {
            file: file.into(),
            top: Vec::new(),
            lists: Vec::new(),
            sections: Vec::new(),
        };
        for (key, value) in table.get_ref() {
            let name = key.get_ref().as_ref();
            if form.top.contains(&name) {
                it.top.push(reader.field(key, value)?);
            } else if form.lists.contains(&name) {
                it.lists.push((name.into(), reader.sentences(name, value)?));
            } else if form.sections.contains(&name) {
                for section in reader.array(name, value, &format!("write [[{name}]]"))? {
                    let place = reader.place(section.span().start);
                    let fields = reader.fields(reader.table(name, section)?)?;
                    it.sections.push((name.into(), place, fields));
                }
            } else {
                let all = [form.top, form.lists, form.sections];
                let near = nearest(name, all.into_iter().flatten().copied());
                let why = format!(
                    "`{name}` is no part of {}; did you mean `{near}`?",
                    form.what
                );
                return Err(reader.wrong(key.span().start, why));
            }
        }
        Ok(it)
    }

    /// The fields of the whole file.
    pub fn top(&self) -> Fields<'_> {
        self.fields(Place { line: 1, column: 1 }, &self.top)
    }

    /// The sentences of a list; none if it is not there.
    pub fn list(&self, name: &str) -> Vec<String> {
        let found = self.lists.iter().find(|it| it.0 == name);
        found.map_or(Vec::new(), |it| it.1.clone())
    }

    /// The sections of this name, in their order.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Fields<'a>> {
        let those = self.sections.iter().filter(move |it| it.0 == name);
        those.map(|it| self.fields(it.1, &it.2))
    }

    /// An error about the file as a whole.
    pub fn wrong(&self, why: String) -> Error {
        Place { line: 1, column: 1 }.wrong(&self.file, why)
    }

    fn fields<'a>(&'a self, place: Place, fields: &'a [Field]) -> Fields<'a> {
        Fields {
            file: &self.file,
            place,
            fields,
            parameters: &[],
            sets: &[],
            cpus: 1,
        }
    }
}

impl Fields<'_> {
    /// An error about this section.
    pub fn wrong(&self, why: String) -> Error {
        self.place.wrong(self.file, why)
    }
}

/// Files of `data` that are part of the program: names and texts.
pub(crate) type BuiltIn = &'static [(&'static str, &'static str)];

/// Files of a folder of `data`, by their names.
macro_rules! built_in {
    ($folder:literal: $($name:literal)+) => {
        &[$(($name, include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"), "/../../data/", $folder, "/", $name, ".toml"
        )))),+]
    };
}
pub(crate) use built_in;

/// The path and the text of a file that is part of the program, or of the file of this path.
///
/// # Errors
/// If it is neither.
pub(crate) fn text_of(
    key: &str,
    folder: &str,
    name: &str,
    built_in: BuiltIn,
) -> Result<(String, String), Error> {
    if let Some(it) = built_in.iter().find(|it| it.0 == name) {
        return Ok((format!("data/{folder}/{name}.toml"), it.1.to_owned()));
    }
    let text = quiescent_report::read_text(name).map_err(|why| {
        let known: Vec<&str> = built_in.iter().map(|it| it.0).collect();
        let allowed = format!(
            "`none`, one of {}, or the path of a file (as a file: {why})",
            known.join(", ")
        );
        Error::value(key, name, allowed)
    })?;
    Ok((name.to_owned(), text))
}

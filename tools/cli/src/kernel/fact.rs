//! One fact about a kernel: what it is, where that was read, and whether it was assumed.

use quiescent_report::Error;
use serde_json::{Value, json};

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name: that of a setting of the machine model where there is one.
    pub name: &'static str,
    /// What it is.
    pub value: String,
    /// The file, or why this was assumed.
    pub from: String,
    /// Nothing on this machine said so.
    pub assumed: bool,
    /// The model's machine is set by it.
    pub sets: bool,
}

impl Fact {
    /// Read from `from`.
    pub fn read(name: &'static str, value: impl ToString, from: impl Into<String>) -> Self {
        Fact {
            name,
            value: value.to_string(),
            from: from.into(),
            assumed: false,
            sets: true,
        }
    }

    /// Could not be read, and assumed because of `why`.
    pub fn assumed(name: &'static str, value: impl ToString, why: impl Into<String>) -> Self {
        Fact {
            assumed: true,
            ..Fact::read(name, value, why)
        }
    }

    /// For people; the model has no such setting.
    pub fn told(self) -> Self {
        Fact {
            sets: false,
            ..self
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({"name": self.name, "value": self.value, "from": self.from, "assumed": self.assumed})
    }
}

/// A file that is there and makes no sense: its place, its content, and what can be done.
pub fn nonsense(file: &str, content: &str, wanted: &str, setting: &str) -> Error {
    let shown: String = content.chars().take(60).collect();
    Error::failed(
        format!("{file}: `{}`", shown.escape_debug()),
        format!("this is not {wanted}"),
        &format!("is that a kernel's file? --set {setting}=VALUE says what it should have said"),
    )
}

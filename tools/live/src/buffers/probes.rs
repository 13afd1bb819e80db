//! Probes on the kernel's functions, where it lacks RCU's tracepoints: which of them, and how they are placed.
//!
//! `data/kernel-probes.toml` is the list. An event of a probe has the name and the fields of the tracepoint
//! that it stands for, in a group of its own, so that probes need nothing of each other and recordings
//! at the same time do not meet. The owner of an [`Instance`](super::instance::Instance) removes them.

use crate::state::btf::Types;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The types of the running kernel.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// What a probe shows, and where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    /// The tracepoint that it stands for.
    pub(crate) event: String,
    /// The same in words.
    pub(crate) shows: String,
    /// A version, and a probe: entry or return, function, fields.
    ways: Vec<(String, String)>,
    #[serde(default)]
    pub(crate) filter: String,
}

static PROBES: LazyLock<Vec<Probe>> = LazyLock::new(|| {
    let file = include_str!("../../../../data/kernel-probes.toml");
    let all: BTreeMap<String, Vec<Probe>> = toml::from_str(file).expect("a test reads it");
    all.into_values().flatten().collect()
});

/// Those that stand for the events of RCU's which these words name.
pub(crate) fn of<'a>(words: impl IntoIterator<Item = &'a String>) -> Vec<&'static Probe> {
    let words: Vec<&str> = words.into_iter().map(|it| it.as_str()).collect();
    let is_named = |it: &&Probe| {
        let named = |word: &&str| ["*", &it.event].contains(&word.trim_start_matches("rcu:"));
        words.iter().any(named)
    };
    PROBES.iter().filter(is_named).collect()
}

/// The file of tracefs that takes probes; none: the kernel has none.
pub(crate) fn file(tracing: &Path) -> Option<PathBuf> {
    let names = ["dynamic_events", "kprobe_events"];
    names
        .map(|it| tracing.join(it))
        .into_iter()
        .find(|it| it.exists())
}

/// Adds a line to that file. Opened for appending: otherwise the kernel removes all probes of all owners.
pub(crate) fn add(file: &Path, line: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(file)?;
    file.write_all(line.as_bytes())
}

/// What the kernel's types are asked for; they are read when that is the first time.
pub(crate) struct Places(LazyLock<Option<Types>>);

impl Places {
    pub(crate) fn here() -> Places {
        Places(LazyLock::new(|| Types::read(Path::new(TYPES))))
    }

    /// A text in which each `{TYPE.MEMBER}` is a number.
    fn filled(&self, text: &str) -> io::Result<String> {
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(text.to_owned());
        };
        let (path, rest) = rest.split_once('}').unwrap_or((rest, ""));
        let types = self.0.as_ref();
        let place = types.and_then(|it| it.place(path)).ok_or_else(|| {
            io::Error::new(
                ErrorKind::NotFound,
                format!("{TYPES} does not tell where {path} is"),
            )
        })?;
        Ok(format!("{before}{place}{}", self.filled(rest)?))
    }
}

impl Probe {
    /// Places it as an event of this group by `add`: the function, or why each of its ways was refused.
    pub(crate) fn place(
        &self,
        group: &str,
        places: &Places,
        add: impl Fn(&str) -> io::Result<()>,
    ) -> Result<&str, String> {
        let mut refused = Vec::new();
        for (_, way) in &self.ways {
            let mut words = way.splitn(3, ' ');
            let [kind, function, fields] = [(); 3].map(|()| words.next().unwrap_or_default());
            let event = &self.event;
            // By the function tracer where the kernel can: cheaper at an entry. Returns that are waited for at
            // the same time need room, which only the other kind can be given.
            let forms = match kind {
                "p" => ["f:GROUP FUNCTION", "p:GROUP FUNCTION"],
                _ => ["r100:GROUP FUNCTION", "f:GROUP FUNCTION%return"],
            };
            let placed = places.filled(fields).and_then(|fields| {
                let line = |form: &str| {
                    let head = form.replace("GROUP", &format!("{group}/{event}"));
                    add(&format!(
                        "{} {fields}\n",
                        head.replace("FUNCTION", function)
                    ))
                };
                line(forms[0]).or_else(|_| line(forms[1]))
            });
            match placed {
                Ok(()) => return Ok(function),
                Err(why) if matches!(why.raw_os_error(), Some(libc::ENOENT | libc::EINVAL)) => {
                    let why =
                        format!("this kernel has no function {function} with these arguments");
                    refused.push(why);
                }
                Err(why) => refused.push(format!("{function}: {why}")),
            }
        }
        Err(format!("{} ({})", self.shows, refused.join("; ")))
    }
}

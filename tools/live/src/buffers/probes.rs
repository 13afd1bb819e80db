//! Probes on the kernel's functions, where it lacks RCU's tracepoints: which, and how they are placed.
//!
//! `data/kernel-probes.toml` is the list. An event of a probe has the name and the fields of the tracepoint
//! that it stands for, in a group of its own: probes need nothing of each other, and recordings at the same
//! time do not meet. The owner of an [`Instance`](super::instance::Instance) removes them.

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
    ways: Vec<Way>,
}

/// A list in the file, in this order.
#[derive(Debug, Deserialize)]
struct Way {
    /// The first version of Linux in which it was seen to be accepted.
    since: String,
    /// Entry or return, function, fields.
    probe: String,
    #[serde(default)]
    filter: Option<String>,
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
    /// Places it as an event of this group by `add`: the function and the filter, or why each of its ways was
    /// refused.
    pub(crate) fn place(
        &self,
        group: &str,
        places: &Places,
        add: impl Fn(&str) -> io::Result<()>,
    ) -> Result<(&str, Option<&str>), String> {
        let mut refused = Vec::new();
        for way in &self.ways {
            let mut words = way.probe.splitn(3, ' ');
            let [kind, function, fields] = [(); 3].map(|()| words.next().unwrap_or_default());
            let event = &self.event;
            // By the function tracer where the kernel can: it is cheaper. Many returns may be waited for at
            // the same time, for which only the other kind can be given room.
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
                Ok(()) => return Ok((function, way.filter.as_deref())),
                Err(why) if matches!(why.raw_os_error(), Some(libc::ENOENT | libc::EINVAL)) => {
                    refused.push(format!(
                        "this kernel has no function {function} with these arguments, as Linux {} has",
                        way.since
                    ));
                }
                Err(why) => refused.push(format!("{function}: {why}")),
            }
        }
        Err(format!("{} ({})", self.shows, refused.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_trace::{Event, Reader};
    use std::cell::RefCell;

    fn no_types() -> Places {
        Places(LazyLock::new(|| None))
    }

    /// A field as the kernel prints it.
    fn printed(field: &str) -> String {
        let (name, fetched) = field.split_once('=').unwrap();
        let value = match fetched.rsplit_once(':').unwrap_or((fetched, "string")) {
            (text, "string") => format!(
                "\"{}\"",
                text.trim_start_matches("\\\"").trim_end_matches('"')
            ),
            (_, "symbol") => "i_callback+0x0/0x20".to_owned(),
            (_, "x64") => "0xffff888012345678".to_owned(),
            (_, "s64" | "u64") => "-5".to_owned(),
            (_, "u8" | "s32") => "1".to_owned(),
            (_, kind) => panic!("{kind}"),
        };
        format!(" {name}={value}")
    }

    #[test]
    fn each_probe_has_the_fields_of_its_event() {
        assert!(PROBES.len() > 15);
        for probe in PROBES.iter() {
            for it in &probe.ways {
                let way = &it.probe;
                assert!(crate::Version::of(&it.since).is_some(), "{it:?}");
                let mut words = way.splitn(3, ' ');
                let kind = words.next().unwrap();
                assert!(["p", "r"].contains(&kind), "{way}");
                let function = words.next().unwrap();
                let fields: String = words.next().unwrap().split(' ').map(printed).collect();
                let text = format!(
                    "  a-5  [001] d..1. 1.5: {}: ({function}+0x0/0x40){fields}\n",
                    probe.event
                );
                let mut reader = Reader::new("probe", text.as_bytes());
                let record = reader.next_record().unwrap().unwrap();
                let event = record.decode();
                assert!(event.is_ok_and(|it| it != Event::Other), "{text} {event:?}");
            }
        }
    }

    #[test]
    fn words_name_the_probes_of_their_events() {
        let named = |word: &str| {
            let probes = of([&word.to_owned()]).into_iter();
            probes.map(|it| it.event.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(named("rcu:*").len(), PROBES.len());
        assert_eq!(named("rcu:rcu_callback"), ["rcu_callback"]);
        assert_eq!(named("rcu_barrier"), ["rcu_barrier", "rcu_barrier"]);
        assert_eq!(named("sched:*"), [""; 0]);
    }

    #[test]
    fn the_first_way_that_the_kernel_accepts_is_taken() {
        let lines = RefCell::new(Vec::new());
        let kernel = |line: &str| {
            lines.borrow_mut().push(line.trim_end().to_owned());
            match line.starts_with("f:") || line.contains("__call_rcu_common") {
                true => Err(io::Error::from_raw_os_error(libc::ENOENT)),
                false => Ok(()),
            }
        };
        let [probe] = of([&"rcu_callback".to_owned()])[..] else {
            panic!()
        };
        assert_eq!(
            probe.place("g_1", &no_types(), kernel),
            Ok(("call_rcu", None))
        );
        let fields = "rhp=$arg1:x64 func=$arg2:symbol";
        assert_eq!(
            *lines.borrow(),
            [
                format!("f:g_1/rcu_callback __call_rcu_common {fields} lazy=$arg3:u8"),
                format!("p:g_1/rcu_callback __call_rcu_common {fields} lazy=$arg3:u8"),
                format!("f:g_1/rcu_callback call_rcu {fields}"),
                format!("p:g_1/rcu_callback call_rcu {fields}"),
            ]
        );
    }

    #[test]
    fn why_one_cannot_be_placed_is_said() {
        let [batch] = of([&"rcu_batch_start".to_owned()])[..] else {
            panic!()
        };
        let why = batch.place("g", &no_types(), |_| Ok(())).unwrap_err();
        let said = "the length of the list at the start of a batch (rcu_do_batch: /sys/kernel/btf/vmlinux \
                    does not tell where rcu_data.cblist.len is; ";
        assert!(why.starts_with(said), "{why}");
        let refused = |_: &str| Err(io::Error::from_raw_os_error(libc::EPERM));
        let [barrier, _] = of([&"rcu_barrier".to_owned()])[..] else {
            panic!()
        };
        let why = barrier.place("g", &no_types(), refused).unwrap_err();
        assert!(
            why.contains("rcu_barrier: Operation not permitted"),
            "{why}"
        );
        let gone = |_: &str| Err(io::Error::from_raw_os_error(libc::ENOENT));
        let why = barrier.place("g", &no_types(), gone).unwrap_err();
        assert!(why.contains("as Linux 5.10 has"), "{why}");
    }
}

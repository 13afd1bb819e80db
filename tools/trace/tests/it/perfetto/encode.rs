//! The same events as text and as a trace of Perfetto's: written from Perfetto's public proto files and the
//! kernel's formats, and not from the reader.

use super::kernel::{Field, fields, flags};
use super::wire::{bytes, number, text};
use quiescent_trace::{Reader, open};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An event: the columns of its line, and its name and text.
#[derive(Debug, Clone)]
pub struct Line {
    pub task: String,
    pub pid: u32,
    pub cpu: u32,
    pub flags: String,
    pub time_ns: u64,
    pub event: String,
    pub text: String,
}

/// How events are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Generic events with names of fields.
    Named,
    /// Generic events with descriptors.
    Described,
    /// As `Described`; scheduler events in the compact form.
    Compact,
}

/// All events of a recorded trace. No two are at the same time, as the order of CPUs at one time is not
/// stored; a `sched_waking` stands before each wake-up.
pub fn recorded(name: &str) -> Vec<Line> {
    let path = format!(
        "{}/../../data/traces/{name}.txt.xz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut reader = Reader::new(name, open(&path).expect("opens"));
    let (mut lines, mut last) = (Vec::new(), 0);
    while let Some(record) = reader.next_record().expect("reads") {
        let mut line = Line {
            task: record.task().to_owned(),
            pid: record.pid,
            cpu: record.cpu,
            flags: record.flags().0.to_owned(),
            time_ns: record.time_ns.max(last + 2),
            event: record.event().to_owned(),
            text: record.text().to_owned(),
        };
        last = line.time_ns;
        if line.event == "sched_wakeup" {
            let event = "sched_waking".to_owned();
            lines.push(Line {
                event,
                time_ns: last - 1,
                ..line.clone()
            });
        }
        if line.event == "hrtimer_expire_entry" {
            // Perfetto has no room for what is no field.
            line.text = line.text.trim_end().to_owned();
        }
        lines.push(line);
    }
    lines
}

/// As the kernel writes them; in the compact form without what that form leaves out.
pub fn as_text(lines: &[Line], form: Form) -> String {
    let mut text = String::new();
    let mut switched = BTreeSet::new();
    for line in lines {
        let (s, ns) = (line.time_ns / 1_000_000_000, line.time_ns % 1_000_000_000);
        let (mut flags, mut event) = (line.flags.as_str(), line.event.as_str());
        let known = !switched.insert(line.cpu);
        if form == Form::Compact && event == "sched_switch" {
            flags = "";
            if !known {
                event = "sched_switch_to";
            }
        }
        text += &format!(
            "{:>16}-{:<7} [{:03}] {flags} {s:>5}.{ns:09}: {event}: {}\n",
            line.task, line.pid, line.cpu, line.text
        );
    }
    text
}

/// Functions, by number.
#[derive(Debug, Default)]
struct Symbols(HashMap<String, u64>);

impl Symbols {
    fn number(&mut self, name: &str, new: &mut Vec<u8>) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(name.to_owned()).or_insert_with(|| {
            let mut symbol = Vec::new();
            number(&mut symbol, 1, next);
            text(&mut symbol, 2, name);
            bytes(new, 26, &symbol);
            next
        })
    }
}

/// A trace: a list of threads, and bundles of all CPUs for every `tick_ns`.
#[derive(Debug)]
pub struct Encoder {
    form: Form,
    symbols: Symbols,
    described: BTreeMap<String, u32>,
    pub packets: Vec<Vec<u8>>,
}

impl Encoder {
    pub fn new(form: Form) -> Self {
        Encoder {
            form,
            symbols: Symbols::default(),
            described: BTreeMap::new(),
            packets: Vec::new(),
        }
    }

    pub fn lines(mut self, lines: &[Line], tick_ns: u64) -> Self {
        let names: BTreeMap<u32, &str> = lines
            .iter()
            .filter(|it| it.pid > 0)
            .map(|it| (it.pid, it.task.as_str()))
            .collect();
        let mut tree = Vec::new();
        for (pid, name) in names {
            let mut thread = Vec::new();
            number(&mut thread, 1, pid.into());
            text(&mut thread, 2, name);
            bytes(&mut tree, 2, &thread);
        }
        self.packet(|packet| bytes(packet, 2, &tree));
        let mut from = 0;
        while from < lines.len() {
            let end = lines[from].time_ns + tick_ns;
            let to = from + lines[from..].partition_point(|line| line.time_ns < end);
            let cpus: BTreeSet<u32> = lines[from..to].iter().map(|line| line.cpu).collect();
            // The CPUs one after another, the last one first.
            for cpu in cpus.into_iter().rev() {
                let of_cpu = lines[from..to].iter().filter(|line| line.cpu == cpu);
                self.bundle(cpu, &of_cpu.collect::<Vec<_>>());
            }
            from = to;
        }
        self
    }

    pub fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = Vec::new();
        number(&mut packet, 10, 7);
        fill(&mut packet);
        self.packets.push(packet);
    }

    fn bundle(&mut self, cpu: u32, lines: &[&Line]) {
        let (mut bundle, mut symbols) = (Vec::new(), Vec::new());
        number(&mut bundle, 1, cpu.into());
        let compact = self.form == Form::Compact;
        for line in lines {
            if !(compact && matches!(&*line.event, "sched_switch" | "sched_waking")) {
                let event = self.event(line, &mut bundle, &mut symbols);
                bytes(&mut bundle, 2, &event);
            }
        }
        if compact {
            bytes(&mut bundle, 4, &compacted(lines));
        }
        self.packet(|packet| {
            bytes(packet, 1, &bundle);
            bytes(packet, 12, &symbols);
        });
    }

    fn event(&mut self, line: &Line, bundle: &mut Vec<u8>, symbols: &mut Vec<u8>) -> Vec<u8> {
        let mut event = Vec::new();
        number(&mut event, 1, line.time_ns);
        number(&mut event, 2, line.pid.into());
        number(&mut event, 5, flags(&line.flags));
        let fields = fields(line);
        let typed = match &*line.event {
            "tracing_mark_write" => 3,
            "sched_switch" => 4,
            "cpu_idle" => 13,
            "sched_wakeup" => 17,
            "sched_waking" => 20,
            "softirq_entry" => 24,
            "softirq_exit" => 25,
            // Messages of their own in later versions only.
            "hrtimer_expire_entry" if self.form != Form::Named => 553,
            "timer_expire_entry" if self.form != Form::Named => 557,
            _ => 0,
        };
        let mut message = Vec::new();
        if typed > 0 {
            // Numbers as they stand in the message's file; `success` is not recorded.
            let numbers: &[u32] = match typed {
                3 => &[2],
                17 | 20 => &[1, 2, 3, 5],
                553 | 557 => &[1, 3, 2, 4],
                _ => &[1, 2, 3, 4, 5, 6, 7],
            };
            for (at, (_, value)) in fields.iter().enumerate() {
                self.value(&mut message, numbers[at], numbers[at], value, symbols);
            }
            bytes(&mut event, typed, &message);
        } else if self.form == Form::Named {
            text(&mut message, 1, &line.event);
            for (name, value) in &fields {
                let mut field = Vec::new();
                text(&mut field, 1, name);
                let kind = if matches!(value, Field::Signed(_)) {
                    4
                } else {
                    5
                };
                self.value(&mut field, 3, kind, value, symbols);
                bytes(&mut message, 2, &field);
            }
            bytes(&mut event, 327, &message);
        } else {
            let id = self.describe(line, &fields, bundle);
            for (at, (_, value)) in fields.iter().enumerate() {
                self.value(&mut message, at as u32 + 1, at as u32 + 1, value, symbols);
            }
            bytes(&mut event, id, &message);
        }
        event
    }

    fn value(
        &mut self,
        out: &mut Vec<u8>,
        of_text: u32,
        of_number: u32,
        value: &Field,
        symbols: &mut Vec<u8>,
    ) {
        match value {
            Field::Text(it) => text(out, of_text, it),
            Field::Signed(it) => number(out, of_number, *it as u64),
            Field::Unsigned(it) => number(out, of_number, *it),
            Field::Function(name) => {
                let it = self.symbols.number(name, symbols);
                number(out, of_number, it);
            }
        }
    }

    /// A descriptor, once for an event, behind the first event that needs it.
    fn describe(&mut self, line: &Line, fields: &[(&str, Field)], bundle: &mut Vec<u8>) -> u32 {
        if let Some(id) = self.described.get(&line.event) {
            return *id;
        }
        let id = 65536 + self.described.len() as u32;
        self.described.insert(line.event.clone(), id);
        let (mut descriptor, mut outer) = (Vec::new(), Vec::new());
        text(&mut descriptor, 1, &line.event);
        for (at, (name, _)) in fields.iter().enumerate() {
            let mut field = Vec::new();
            text(&mut field, 1, name);
            number(&mut field, 3, at as u64 + 1);
            number(&mut field, 5, 3);
            bytes(&mut descriptor, 2, &field);
        }
        number(&mut outer, 1, id.into());
        bytes(&mut outer, 2, &descriptor);
        bytes(bundle, 11, &outer);
        id
    }

    /// The file.
    pub fn file(&self) -> Vec<u8> {
        let mut file = Vec::new();
        self.packets
            .iter()
            .for_each(|packet| bytes(&mut file, 1, packet));
        file
    }
}

/// `CompactSched`: a row of numbers for each field.
fn compacted(lines: &[&Line]) -> Vec<u8> {
    let mut names: Vec<String> = Vec::new();
    let mut rows: [Vec<u64>; 13] = Default::default();
    let mut last = [0; 2];
    for line in lines {
        let switch = line.event == "sched_switch";
        if !switch && line.event != "sched_waking" {
            continue;
        }
        let fields = fields(line);
        let number = |at: usize| match fields[at].1 {
            Field::Signed(it) => it as u64,
            Field::Unsigned(it) => it,
            _ => panic!("a number"),
        };
        let Field::Text(comm) = &fields[if switch { 4 } else { 0 }].1 else {
            panic!("a name");
        };
        let name = names.iter().position(|it| it == comm).unwrap_or_else(|| {
            names.push(comm.clone());
            names.len() - 1
        }) as u64;
        let last = &mut last[usize::from(switch)];
        let passed = line.time_ns - *last;
        *last = line.time_ns;
        let values = match switch {
            true => vec![
                (1, passed),
                (2, number(3)),
                (3, number(5)),
                (4, number(6)),
                (6, name),
            ],
            false => vec![
                (7, passed),
                (8, number(1)),
                (9, number(3)),
                (10, number(2)),
                (11, name),
                (12, flags(&line.flags)),
            ],
        };
        values
            .into_iter()
            .for_each(|(row, value)| rows[row].push(value));
    }
    let mut compact = Vec::new();
    names.iter().for_each(|name| text(&mut compact, 5, name));
    for (row, values) in rows
        .iter()
        .enumerate()
        .filter(|(_, values)| !values.is_empty())
    {
        let mut packed = Vec::new();
        values
            .iter()
            .for_each(|value| super::wire::varint(&mut packed, *value));
        bytes(&mut compact, row as u32, &packed);
    }
    compact
}

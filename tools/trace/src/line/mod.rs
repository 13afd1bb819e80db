//! One line of ftrace text, in every layout met so far.
//!
//! ```text
//! ftrace        comm-pid  [cpu] FLAGS  sec.usec: event: text
//!   tgid        comm-pid  (  tgid) [cpu] FLAGS  sec.usec: event: text      an unknown tgid is dashes
//!   no irq-info comm-pid  [cpu]  sec.usec: event: text
//!   latency     comm-pid  cpuFLAGS  NNNus+: event: text                    one mark of delay, or a blank
//!   clocks      a time without a dot has no unit (uptime, counter, x86-tsc)
//! trace-cmd     as ftrace; the event is padded; nanoseconds with -t; `(+5)` before the event with --ts-diff
//!   latency (-l) comm-pid  cpuFLAGS sec.usec: event: text                  with -R: a number for the letters
//!   instance    `name: ` before the line
//! perf script   comm  pid [cpu]  sec.usec: sys:event: text                `pid/tid` with both
//! kernelshark   cpu  sec.usec  comm  pid  FLAGS  sys/event  text        blanks or tabs between the columns
//! system calls  ... sec.usec: sys_openat(dfd: ...)   sys_openat -> 0x3   the name stands for the event
//! stacks        ... sec.usec: <stack trace>, then lines ` => function`   the lines are its text
//! functions     ... sec.usec: callee <-caller                            the callee stands for the event
//! ```
//!
//! What makes it unambiguous: the task is all that stands before the *first* `[number]` in front of which a
//! pid is found, and its name ends at the *last* dash there, so that names with blanks, dashes and brackets
//! are read right. Nothing is allocated: a [`Record`] borrows the line. Any text gives a record, a header or
//! a [`Fault`], never a panic (checked with arbitrary bytes).
//!
//! The common layout has a reader of its own (`fast`), which looks at every byte once and gives up at the
//! first that it does not expect; what follows then is the reader of all layouts. Where the fast one does not
//! give up, both say the same (checked on every line of the traces, and on damaged ones).

mod columns;
mod fast;
mod latency;
mod list;
mod made;
mod other;
mod reader;
mod source;

use crate::Fault;
use crate::event::{Event, Fields, of_fields, of_text};
use std::fmt;

use columns::column_of_cpu;
pub(crate) use fast::{Before, plain, start};
use latency::{latency, timed};
use list::listed;
pub(crate) use made::{Columns, Draft, Maker};
use other::{is_bare, is_raw, lost, special};
pub use reader::{Buffer, Reader, Summary};
pub use source::Input;

/// CPU numbers from here on are taken for damage: tables by CPU must not grow without bound.
const CPUS_MOST: u32 = 1 << 16;

/// The irq-info column of a record: five letters, four on old kernels, up to eight on new ones; three of a
/// trace that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags<'a>(pub &'a str);

impl Flags<'_> {
    fn at(self, place: usize) -> u8 {
        *self.0.as_bytes().get(place).unwrap_or(&b'.')
    }

    /// Interrupts were off when the event was written. Many events are written in a section that turns them
    /// off itself.
    pub fn irqs_off(self) -> bool {
        matches!(self.at(0), b'd' | b'D')
    }

    /// In a hard interrupt or an NMI.
    pub fn hardirq(self) -> bool {
        matches!(self.at(2), b'h' | b'H' | b'z' | b'Z')
    }

    /// In a soft interrupt, with no hard one on top.
    pub fn softirq(self) -> bool {
        self.at(2) == b's'
    }

    /// In either of both: not the task's own doing.
    pub fn interrupt(self) -> bool {
        self.hardirq() || self.softirq()
    }
}

/// What a time without its unit is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Seconds with a fraction, or microseconds in the latency layout: [`Record::time_ns`] is right.
    Seconds,
    /// A bare number: only its order means something.
    None,
}

/// One event. It borrows its line: a piece of that is cut out when it is asked for.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Line number, from 1.
    pub line: u64,
    /// Id of the task that ran; 0 is the idle loop.
    pub pid: u32,
    /// The CPU that wrote the event.
    pub cpu: u32,
    /// Time in nanoseconds, or the bare number when the clock has no unit.
    pub time_ns: u64,
    /// Whether `time_ns` is nanoseconds.
    pub unit: Unit,
    /// The block that it is in, where in it its line starts, and where in that its pieces stand.
    block: &'a str,
    start: u32,
    places: &'a Places,
    /// The fields of its event instead of a text; the block has their texts.
    fields: Option<&'a Fields>,
}

/// The pieces of a line that is a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pieces<'a> {
    pub(crate) task: &'a str,
    pub(crate) pid: u32,
    pub(crate) cpu: u32,
    pub(crate) flags: Flags<'a>,
    pub(crate) time_ns: u64,
    pub(crate) unit: Unit,
    pub(crate) event: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Record<'a> {
    /// Decodes the event.
    ///
    /// # Errors
    /// [`Fault::Field`] with the field's name when a known event lacks it, [`Fault::Hidden`] for hidden
    /// pointers.
    ///
    /// ```
    /// use quiescent_trace::{Event, Reader};
    ///
    /// let text = "a-7 [001] d..2. 1.5: rcu_callback: rcu_preempt rhp=ff10 func=__d_free 3\n";
    /// let mut reader = Reader::new("example", text.as_bytes());
    /// let event = reader.next_record()?.unwrap().decode().unwrap();
    /// assert_eq!(event, Event::Callback { head: 0xff10, function: "__d_free" });
    /// # Ok::<(), quiescent_trace::Error>(())
    /// ```
    #[inline(always)]
    pub fn decode(&self) -> Result<Event<'a>, Fault> {
        match self.fields {
            None => of_text(self.event(), self.text()),
            Some(fields) => of_fields(self.event(), fields, self.block),
        }
    }

    /// Name of the task that ran.
    pub fn task(&self) -> &'a str {
        self.piece(self.places.task)
    }

    /// The irq-info column; empty when it was left out.
    pub fn flags(&self) -> Flags<'a> {
        Flags(self.piece(self.places.flags))
    }

    /// Name of the event, without the subsystem.
    #[inline(always)]
    pub fn event(&self) -> &'a str {
        self.piece(self.places.event)
    }

    /// The rest of the line; empty in a trace that is no text, whose events [`Record::decode`] makes of their
    /// fields.
    #[inline(always)]
    pub fn text(&self) -> &'a str {
        self.piece(self.places.text)
    }

    /// An empty piece may lie anywhere: it stays empty.
    #[inline(always)]
    fn piece(&self, (from, to): (u32, u32)) -> &'a str {
        let place = self.start.wrapping_add(from) as usize..self.start.wrapping_add(to) as usize;
        self.block.get(place).unwrap_or("")
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = (self.line, self.task(), self.pid, self.cpu, self.flags());
        let what = (self.event(), self.text(), self.fields);
        write!(f, "{who:?} {} {:?} {what:?}", self.time_ns, self.unit)
    }
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Record(Pieces<'a>),
    /// `entries-in-buffer/entries-written`, and the number of CPUs.
    Entries {
        kept: u64,
        written: u64,
        cpus: Option<u32>,
    },
    /// `cpus=N`, the first line of `trace-cmd report`.
    Cpus(u32),
    /// `CPU:n [LOST k EVENTS]`; `None` when the number is not known.
    Lost(Option<u64>),
    /// A buffer of a trace.dat: its name (empty: the first one) and its clock.
    Buffer {
        name: &'a str,
        clock: &'a str,
    },
    /// An option of a trace.dat that changes times and is not followed.
    NotApplied(&'a str),
    /// `# tracer: nop`, the first line of the tracefs file.
    Begins,
    /// What the CPU wrote before was lost.
    Started(u32),
    /// `##### CPU 3 buffer started ####`: before the first event of each CPU once any buffer has lost some.
    Marked(u32),
    /// ` => function`: it belongs to the stack before it.
    Frame,
    /// A header line or a blank one: nothing in it is needed.
    Nothing,
}

/// Where the pieces of a record stand in its line: what is kept while the line may not be borrowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pid: u32,
    pub(crate) cpu: u32,
    pub(crate) time_ns: u64,
    pub(crate) unit: Unit,
    task: (u32, u32),
    flags: (u32, u32),
    event: (u32, u32),
    text: (u32, u32),
}

/// Events whose lines of functions follow them: as the kernel prints a stack, and trace-cmd.
pub(crate) const STACKS: [&str; 2] = ["<stack trace>", "kernel_stack"];

impl Places {
    /// How far a line is known whose end is not.
    #[inline(always)]
    fn known(&self) -> usize {
        self.text.0 as usize
    }

    /// Adds the line that ends here, counted from the record's own, to the text of a stack. What is no stack
    /// stays as it is.
    fn extend(&mut self, line: &str, end: usize) {
        let (from, to) = self.event;
        if STACKS
            .iter()
            .any(|it| line.get(from as usize..to as usize) == Some(it))
        {
            let (start, before) = self.text;
            // An empty text lies anywhere.
            self.text = (if start == before { to } else { start }, end as u32);
        }
    }

    /// All pieces of `record` are pieces of `line`, or empty.
    pub(crate) fn of(line: &str, record: &Pieces<'_>) -> Self {
        let place = |piece: &str| {
            let start = (piece.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize) as u32;
            (start, start.wrapping_add(piece.len() as u32))
        };
        Places {
            pid: record.pid,
            cpu: record.cpu,
            time_ns: record.time_ns,
            unit: record.unit,
            task: place(record.task),
            flags: place(record.flags.0),
            event: place(record.event),
            text: place(record.text),
        }
    }
}

/// Reads a line of any layout, without its end.
pub(crate) fn any(line: &str) -> Result<Line<'_>, Fault> {
    if line.len() > crate::LINE_MOST {
        return Err(Fault::Long);
    }
    let line = without_grep(line);
    let start = line.trim_ascii_start();
    if let Some(line) = special(start) {
        return line;
    }
    let after = without_instance(line);
    if after.len() != line.len()
        && let Some(lost) = lost(after.trim_start())
    {
        return Ok(Line::Lost(lost));
    }
    let found = timed(after)
        .or_else(|| bracketed(after))
        .or_else(|| latency(after))
        .or_else(|| listed(after));
    match found {
        Some(record) => record.map(Line::Record),
        None if is_raw(start) => Err(Fault::Raw),
        None if is_bare(line) => Err(Fault::Context),
        None => Err(Fault::Shape),
    }
}

/// `grep -n` puts `12:` before a line.
fn without_grep(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line.get(digits..) {
        Some(rest) if digits > 0 && rest.starts_with(':') => &rest[1..],
        _ => line,
    }
}

/// The buffer of an instance has its name before every line. Names of tasks are padded on the left, so a
/// line that starts with a word, a colon and a blank has one.
fn without_instance(line: &str) -> &str {
    let word = line
        .bytes()
        .take_while(|b| !b.is_ascii_whitespace() && *b != b':')
        .count();
    match line.get(word..) {
        Some(rest) if word > 0 && rest.starts_with(": ") => &rest[2..],
        _ => line,
    }
}

/// The layouts with `[cpu]`. `None` when there is none; an error when there is and the rest cannot be read.
fn bracketed(line: &str) -> Option<Result<Pieces<'_>, Fault>> {
    let column = column_of_cpu(line.as_bytes());
    for open in memchr::memchr_iter(b'[', line.as_bytes()) {
        // A name may look like columns; those of the kernel are where they are.
        if column.is_some_and(|column| open < column) {
            continue;
        }
        let length = line[open..].find(']')?;
        let number = &line[open + 1..open + length];
        if !is_number(number) {
            continue;
        }
        let Some((task, pid)) = who(&line[..open]) else {
            continue;
        };
        let (first, after) = word(&line[open + length + 1..]);
        let (flags, time, rest) = match first.strip_suffix(':') {
            Some(time) => ("", time, after),
            None => {
                let (second, after) = word(after);
                match second.strip_suffix(':') {
                    Some(time) => (first, time, after),
                    None => return Some(Err(Fault::Shape)),
                }
            }
        };
        return Some(record((task, pid, number), flags, time_of(time), rest));
    }
    None
}

/// The task and its id out of what stands before the CPU.
fn who(text: &str) -> Option<(&str, u32)> {
    let mut text = text.trim_ascii_end();
    if text.ends_with(')') {
        // The thread group: not needed.
        text = text[..text.rfind('(')?].trim_ascii_end();
    }
    let (before, last) = last_word(text);
    let (task, pid) = if is_number(last) {
        (before, last)
    } else if let Some(thread) = of_process(last) {
        (before, thread)
    } else {
        let dash = memchr::memrchr(b'-', text.as_bytes())?;
        (&text[..dash], &text[dash + 1..])
    };
    let task = task.trim_ascii();
    let pid = pid.parse().ok()?;
    (!task.is_empty()).then_some((task, pid))
}

/// The thread of `pid/tid`.
fn of_process(word: &str) -> Option<&str> {
    let (process, thread) = word.split_at(memchr::memchr(b'/', word.as_bytes())?);
    let thread = &thread[1..];
    (is_number(process) && is_number(thread)).then_some(thread)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `digits.digits`.
fn is_time(word: &str) -> bool {
    fast::time(word.as_bytes(), 0).is_some_and(|(_, end)| end == word.len())
}

/// The irq-info column.
fn is_flags(text: &str) -> bool {
    let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'.';
    (4..=8).contains(&text.len()) && text.bytes().all(letters)
}

/// Nanoseconds out of `sec.fraction`, or the number itself when it has no fraction.
fn time_of(text: &str) -> Result<(u64, Unit), Fault> {
    if is_number(text) {
        let number = text.parse().map_err(|_| Fault::Time)?;
        return Ok((number, Unit::None));
    }
    match fast::time(text.as_bytes(), 0) {
        Some((ns, end)) if end == text.len() => Ok((ns, Unit::Seconds)),
        _ => Err(Fault::Time),
    }
}

/// A record whose event follows, after a difference of times if there is one.
fn record<'a>(
    who: (&'a str, u32, &str),
    flags: &'a str,
    time: Result<(u64, Unit), Fault>,
    rest: &'a str,
) -> Result<Pieces<'a>, Fault> {
    let mut rest = rest.trim_ascii_start();
    if rest.starts_with("(+") {
        rest = rest.split_once(')').map_or(rest, |(_, after)| after);
    }
    if rest.trim_ascii_start().starts_with("[UNKNOWN EVENT") {
        return Err(Fault::Unknown);
    }
    record_of(who, flags, time, event_of(rest))
}

/// A record of its parts: the task, its id and the CPU; the event and its text.
fn record_of<'a>(
    (task, pid, cpu): (&'a str, u32, &str),
    flags: &'a str,
    time: Result<(u64, Unit), Fault>,
    event: Option<(&'a str, &'a str)>,
) -> Result<Pieces<'a>, Fault> {
    let cpu = cpu.parse().ok().filter(|cpu| *cpu < CPUS_MOST);
    let cpu = cpu.ok_or(Fault::Cpu)?;
    let (time_ns, unit) = time?;
    let (event, text) = event.ok_or(Fault::Shape)?;
    Ok(Pieces {
        task,
        pid,
        cpu,
        flags: Flags(flags),
        time_ns,
        unit,
        event,
        text: text.trim_ascii(),
    })
}

/// The event's name, and its text.
fn event_of(rest: &str) -> Option<(&str, &str)> {
    let (name, text) = word(rest);
    let rest = rest.trim_ascii_start();
    if name.starts_with("sys_")
        && let Some(open) = name.find('(')
    {
        return Some(rest.split_at(open));
    }
    if let Some(name) = name.strip_suffix(':') {
        let subsystem = memchr::memrchr(b':', name.as_bytes());
        return Some((&name[subsystem.map_or(0, |at| at + 1)..], text));
    }
    let stack = "<stack trace>";
    if rest.starts_with(stack) {
        return Some(rest.split_at(stack.len()));
    }
    // The function tracer, `callee <-caller`, and the end of a system call, `sys_openat -> 0x3`.
    let text = text.trim_ascii_start();
    let known = text.starts_with("<-") || text.starts_with("-> ");
    (known && !name.is_empty()).then_some((name, text))
}

/// What stands before the last word, and that word; the text does not end with a blank.
fn last_word(text: &str) -> (&str, &str) {
    let before = text.bytes().rposition(|b| b.is_ascii_whitespace());
    text.split_at(before.map_or(0, |at| at + 1))
}

/// The first word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_ascii_start();
    let end = text.bytes().position(|b| b.is_ascii_whitespace());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;

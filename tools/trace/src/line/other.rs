//! Lines that are no event: headers, losses, stacks; and why a line that is none of all this is none.

use super::Line;
use crate::Fault;

/// What is no event, by how it starts.
pub(super) fn special(start: &str) -> Option<Result<Line<'_>, Fault>> {
    if start.is_empty() {
        return Some(Ok(Line::Nothing));
    }
    if start.starts_with('#') {
        return Some(Ok(header(start)));
    }
    if let Some(n) = start.strip_prefix("cpus=") {
        return Some(n.trim().parse().map(Line::Cpus).map_err(|_| Fault::Shape));
    }
    if let Some(lost) = lost(start) {
        return Some(Ok(Line::Lost(lost)));
    }
    if start.starts_with("=> ") {
        return Some(Ok(Line::Frame));
    }
    // Notes in front of the first header line: of a test bench, and of atrace.
    let noted = ["RAWUS ", "version = "]
        .iter()
        .any(|note| start.starts_with(note));
    let atrace = ["capturing trace...", "capturing trace... done", "TRACE:"];
    (noted || atrace.contains(&start.trim_ascii_end())).then_some(Ok(Line::Nothing))
}

fn header(line: &str) -> Line<'_> {
    if line.starts_with("# tracer:") {
        return Line::Begins;
    }
    let started = line.strip_prefix("##### CPU ");
    if let Some(cpu) = started.and_then(|it| it.split_once(" buffer started")?.0.parse().ok()) {
        return Line::Marked(cpu);
    }
    let Some(rest) = line.split("entries-in-buffer/entries-written:").nth(1) else {
        return Line::Nothing;
    };
    let mut words = rest.split_whitespace();
    let counts = words.next().and_then(|w| w.split_once('/'));
    let cpus = words
        .next()
        .and_then(|w| w.strip_prefix("#P:")?.parse().ok());
    match counts.map(|(a, b)| (a.parse(), b.parse())) {
        Some((Ok(kept), Ok(written))) => Line::Entries {
            kept,
            written,
            cpus,
        },
        _ => Line::Nothing,
    }
}

/// `CPU:3 [LOST 17 EVENTS]`, and trace-cmd's `CPU:3 [17 EVENTS DROPPED]` and `CPU:3 [EVENTS DROPPED]`.
pub(super) fn lost(line: &str) -> Option<Option<u64>> {
    let (cpu, rest) = line.strip_prefix("CPU:")?.split_once(" [")?;
    cpu.parse::<u32>().ok()?;
    let about = rest.split_once(']')?.0;
    let number = match about.strip_suffix(" DROPPED") {
        Some(number) => number.strip_suffix("EVENTS")?,
        None => about.strip_prefix("LOST")?.strip_suffix("EVENTS")?,
    };
    match number.trim() {
        "" => Some(None),
        number => number.parse().ok().map(Some),
    }
}

/// `pid cpu time type: N ...`, in decimal or, with the `hex` option, in hexadecimal.
pub(super) fn is_raw(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let number = |w: Option<&str>| w.is_some_and(|w| w.bytes().all(|b| b.is_ascii_hexdigit()));
    number(words.next())
        && number(words.next())
        && number(words.next())
        && words.next() == Some("type:")
}

/// Starts with the name of an event: `sched_wakeup: comm=...`, `sys_openat(dfd: ...`, `sys_openat -> 0x3`.
pub(super) fn is_bare(line: &str) -> bool {
    let name = line
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    let rest = &line[name..];
    let call = line.starts_with("sys_") && (rest.starts_with('(') || rest.starts_with(" -> "));
    name > 0 && (rest.starts_with(": ") || call)
}

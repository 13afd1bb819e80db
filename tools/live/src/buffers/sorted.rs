//! Lines of a trace in the order of their times.
//!
//! The kernel merges the buffers of all CPUs, but an event that a CPU is writing at the moment of the merge
//! may come after a later one of another CPU: a few in a hundred thousand, each by some microseconds. So
//! lines are held back for [`LATE_NS`] and sorted by time. The sort is stable: lines with equal times, and
//! lines without a time (losses), stay behind the line before them.

use quiescent_trace::Reader;

/// No event comes later than this: writing one takes microseconds, and some milliseconds on a CPU that is
/// interrupted meanwhile, or whose host takes it away.
const LATE_NS: u64 = 5_000_000;

/// Lines that arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    text: Vec<u8>,
}

impl Sorted {
    /// Adds text; lines may be cut anywhere.
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.text.extend_from_slice(part);
    }

    /// Returns what is in its final order; at the end of the trace, everything.
    pub(crate) fn take(&mut self, is_end: bool) -> Vec<u8> {
        let whole = self
            .text
            .iter()
            .rposition(|it| *it == b'\n')
            .map_or(0, |it| it + 1);
        let mut lines = lines(&self.text[..whole]);
        lines.sort_by_key(|it| it.0); // a stable sort, and quick where they are in order
        let newest = lines.last().map_or(0, |it| it.0);
        let is_final = |it: &(u64, usize, usize)| is_end || it.0.saturating_add(LATE_NS) < newest;
        let split = lines.partition_point(is_final);
        let (mut done, mut kept) = (Vec::new(), Vec::new());
        for (n, &(_, from, to)) in lines.iter().enumerate() {
            let side = if n < split { &mut done } else { &mut kept };
            side.extend_from_slice(&self.text[from..to]);
        }
        let rest = if is_end { &mut done } else { &mut kept };
        rest.extend_from_slice(&self.text[whole..]);
        self.text = kept;
        done
    }
}

/// Each line: its time, or that of the line before it; where it begins and ends.
fn lines(text: &[u8]) -> Vec<(u64, usize, usize)> {
    let mut reader = Reader::new("trace_pipe", text);
    let mut lines: Vec<(u64, usize, usize)> = Vec::new();
    let (mut time, mut from) = (0, 0);
    let mut next = |time: u64| {
        let rest = &text[from..];
        let length = rest
            .iter()
            .position(|it| *it == b'\n')
            .map_or(rest.len(), |it| it + 1);
        lines.push((time, from, from + length));
        from += length;
        lines.len() as u64
    };
    let mut count = 0;
    // A slice never fails.
    while let Ok(Some(record)) = reader.next_record() {
        while count + 1 < record.line {
            count = next(time);
        }
        time = record.time_ns;
        count = next(time);
    }
    while count < reader.summary().lines {
        count = next(time);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ms: u64, name: &str) -> String {
        format!(
            "          a-1       [000] d..2.    1.{:06}: {name}: x=1\n",
            ms * 1000
        )
    }

    #[test]
    fn late_lines_go_where_they_belong_and_losses_stay() {
        let mut sorted = Sorted::default();
        let lost = "CPU:1 [LOST 7 EVENTS]\n";
        let text = line(10, "a") + lost + &line(12, "c") + &line(11, "b") + &line(30, "e");
        // In pieces, which end anywhere.
        let mut out = Vec::new();
        for part in text.as_bytes().chunks(37) {
            sorted.push(part);
            out.extend(sorted.take(false));
        }
        sorted.push(line(29, "d").as_bytes());
        out.extend(sorted.take(true));
        let expected = line(10, "a")
            + lost
            + &line(11, "b")
            + &line(12, "c")
            + &line(29, "d")
            + &line(30, "e");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(sorted.take(true), b"");
    }

    #[test]
    fn nothing_is_lost_of_what_is_no_trace() {
        let mut sorted = Sorted::default();
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        let mut out = Vec::new();
        for part in bytes.chunks(100) {
            sorted.push(part);
            out.extend(sorted.take(false));
        }
        out.extend(sorted.take(true));
        assert_eq!(out, bytes);
    }
}

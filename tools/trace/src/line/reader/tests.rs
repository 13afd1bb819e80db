use super::lines::BLOCK;
use super::*;
use crate::{Fault, Options, Recorder, from_read};
use proptest::prelude::*;
use std::io::{Cursor, Read};

/// Reads everything, through every consumer, and gives what was met.
fn consume(bytes: &[u8]) -> Result<Summary, Error> {
    let mut reader = Reader::new("bytes", bytes);
    let mut recorder = Recorder::new(Options::default());
    while let Some(record) = reader.next_record()? {
        recorder.feed(&record);
    }
    // Whether there are figures is not the question here; that nothing panics is.
    let _recorded = recorder.finish(reader.summary()).is_ok();
    Ok(reader.summary().clone())
}

/// Lines that are nearly right: pieces of real ones in any order.
fn nearly() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a-1",
        " ",
        " [001] ",
        "d..2.",
        " 1.000001: ",
        "us",
        "9us+: ",
        "[",
        "]",
        "-",
        ":",
        "(+",
        "(",
        ")",
        "rcu_callback: ",
        "rcu_preempt ",
        "rhp=ff ",
        "func=a",
        "sched_switch: ",
        "prev_comm=",
        " ==> ",
        "next_comm=x ",
        "next_pid=1",
        "prev_pid=",
        "cpu_idle: ",
        "state=1 cpu_id=65535",
        "rcu_grace_period_init: ",
        "0 0 7 ff",
        "rcu_quiescent_state_report: ",
        "1>f",
        "start",
        "rcu_grace_period: ",
        "-5 fqsend",
        "-5 start",
        "-5 end",
        "99999999999999999999",
        "\n",
        "é",
        "tracing_mark_write: WORKLOAD_START",
        "WORKLOAD_END",
        "timer_expire_entry: ",
        "now=",
        "function=tick_nohz_handler ",
        "hrtimer_expire_entry: ",
        "=",
        "# entries-in-buffer/entries-written:",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let summary = consume(&bytes).expect("reads");
        prop_assert!(summary.records + summary.malformed.count() <= summary.lines);
    }

    #[test]
    fn nearly_right_lines_are_read_to_their_end(text in nearly()) {
        let summary = consume(text.as_bytes()).expect("reads");
        prop_assert_eq!(summary.lines as usize, text.lines().count());
    }

    #[test]
    fn a_damaged_trace_is_read_to_its_end(
        from in 0usize..1500, at in any::<usize>(), cut in 0usize..60,
        put in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let text: String = idle().lines().skip(from).take(40).flat_map(|line| [line, "\n"]).collect();
        let mut bytes = text.into_bytes();
        let at = at % bytes.len();
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put);
        let summary = consume(&bytes).expect("reads");
        prop_assert!(summary.records > 0 && summary.records + summary.malformed.count() <= summary.lines);
        for malformed in summary.malformed.first() {
            prop_assert!((1..=summary.lines).contains(&malformed.line));
        }
    }

    #[test]
    fn a_damaged_xz_file_is_read_or_refused(at in 0usize..8000, value in any::<u8>(), end in 0usize..9000) {
        let mut bytes = IDLE.to_vec();
        let at = at.min(bytes.len() - 1);
        bytes[at] = value;
        bytes.truncate(end.max(7));
        if let Ok(input) = from_read("damaged", Cursor::new(bytes)) {
            let mut reader = Reader::new("damaged", input);
            while let Ok(Some(_)) = reader.next_record() {}
        }
    }
}

/// Every record of a reader, in words, and the summary at the end.
fn all(mut reader: Reader<'_>) -> (Vec<String>, Summary) {
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("reads") {
        records.push(format!("{record:?}"));
    }
    assert!(reader.next_record().expect("stays at its end").is_none());
    (records, reader.summary().clone())
}

#[test]
fn a_thread_that_reads_ahead_changes_nothing() {
    let long = "x".repeat(LINE_MOST + 9);
    let header = "# entries-in-buffer/entries-written: 3/5   #P:2\nodd\nCPU:1 [LOST EVENTS]\n";
    let text = format!(
        "{long}\n{header}{}{long}\n{header}{}odd\n{long}",
        idle(),
        idle()
    );
    for length in [0, 70_000, 100_000, 200_000, text.len()] {
        let bytes = &text.as_bytes()[..length];
        let here = all(Reader::new("text", bytes));
        assert_eq!(
            here,
            all(Reader::ahead("text", Cursor::new(bytes.to_vec())))
        );
        assert_eq!(here.1.lines as usize, text[..length].lines().count());
    }
}

#[test]
fn an_error_ends_both_ways_of_reading_alike() {
    let cut = || from_read("cut", Cursor::new(idle()).chain(Fails)).expect("opens");
    let readers = [Reader::new("cut", cut()), Reader::ahead("cut", cut())];
    let [here, ahead] = readers.map(|mut reader| {
        let mut records = 0;
        loop {
            match reader.next_record() {
                Ok(Some(_)) => records += 1,
                Ok(None) => panic!("it is cut"),
                Err(e) => return (records, e.to_string()),
            }
        }
    });
    assert!(
        here.0 > 1000 && here.1.starts_with("cut, after line "),
        "{here:?}"
    );
    assert_eq!(here, ahead);
}

/// What breaks off.
struct Fails;

impl Read for Fails {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}

/// A whole trace as text, decompressed once.
fn idle() -> &'static str {
    static TEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    TEXT.get_or_init(|| {
        let mut input = from_read("idle", Cursor::new(IDLE)).expect("opens").text();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut input, &mut text).expect("reads");
        text
    })
}

const IDLE: &[u8] = include_bytes!("../../../../../data/traces/classic-idle.txt.xz");

#[test]
fn a_cut_xz_file_is_an_error_with_the_line_and_a_remedy() {
    let error = from_read("cut", Cursor::new(&IDLE[..4000])).expect_err("is cut");
    let error = error.to_string();
    assert!(error.starts_with("cut, after line ") && error.contains("copy or record it again"));
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_counted() {
    let mut text = "a-1 [001] ..... 1.0: e: ".repeat(LINE_MOST / 8);
    text.push_str("\na-1 [001] ..... 2.0: e: t");
    let mut reader = Reader::new("long", text.as_bytes());
    assert_eq!(reader.next_record().expect("reads").expect("one").line, 2);
    assert!(reader.next_record().expect("reads").is_none());
    assert_eq!(reader.summary().malformed.first()[0].fault, Fault::Long);
    let LineSource::Here(lines) = &reader.source else {
        panic!("no thread was asked for");
    };
    assert!(reader.block.capacity() <= 4 * BLOCK && lines.capacity() <= 2 * BLOCK);
}

#[test]
fn bytes_that_are_no_text_become_question_marks() {
    let bytes = b"\xff\xc3b-1 [001] ..... 1.0: e: \xe2\x82";
    let mut reader = Reader::new("bytes", &bytes[..]);
    let record = reader.next_record().expect("reads").expect("one");
    assert_eq!((record.task(), record.text()), ("??b", "??"));
}

#[test]
fn the_summary_counts_what_is_odd() {
    let text = "# entries-in-buffer/entries-written: 3/5   #P:2\n\na-1 [004] ..... 2.0: e: t\n\
        a-1 [000] ..... 1.0: e: t\r\nCPU:1 [LOST 4 EVENTS]\na-1 [000] ..... 7: e: t\nodd\n";
    let summary = consume(text.as_bytes()).expect("reads");
    assert_eq!((summary.lines, summary.records), (7, 3));
    assert_eq!(
        (summary.lost, summary.backwards, summary.unitless),
        (6, 2, 1)
    );
    assert_eq!(summary.backwards_at, Some(4));
    assert_eq!((summary.cpus_stated, summary.cpus()), (Some(2), 5));
    assert_eq!(summary.malformed.first()[0].line, 7);
}

/// Blocks end between records: a stack is whole wherever the end of a block falls.
#[test]
fn a_stack_is_in_one_block() {
    let stack = "a-1 [000] d..2. 1.0: <stack trace>\n => f\n => g\n => h\n";
    let line = "a-1 [000] d..2. 1.0: rcu_utilization: x\n";
    for n in 0..line.len() {
        // Lines of the same length but for the first, so that ends of blocks fall everywhere.
        let mut text = format!("#{}\n", "x".repeat(n));
        while text.len() < 2 * BLOCK {
            text += line;
            text += stack;
        }
        let mut reader = Reader::new("stacks", text.as_bytes());
        let (mut stacks, mut others) = (0, 0);
        while let Some(record) = reader.next_record().expect("reads") {
            match record.event() {
                "<stack trace>" => {
                    assert_eq!(
                        record.text(),
                        "\n => f\n => g\n => h",
                        "line {}",
                        record.line
                    );
                    stacks += 1;
                }
                _ => others += 1,
            }
        }
        assert_eq!((stacks, reader.summary().malformed.count()), (others, 0));
        assert_eq!(reader.summary().lines, 1 + 5 * stacks);
    }
    // A stack without an end, and lines of one that has no beginning.
    let frames = " => f\n".repeat(BLOCK / 3);
    for text in [
        format!("{line}{stack}{frames}{line}"),
        format!("{frames}{line}{frames}"),
    ] {
        let summary = consume(text.as_bytes()).expect("is read");
        assert_eq!(summary.malformed.count(), 0);
        assert_eq!(summary.lines as usize, text.lines().count());
    }
}

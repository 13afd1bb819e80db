//! A report as JSON, formatted by hand: the library takes no dependency for one format.
//!
//! ```json
//! {"schema":"quiescent-stall/1","grace_period":7,"report":1,"age_ns":1000000000,"more":0,"queued":2,
//!  "queued_bytes":80,"readers":[{"thread_id":42,"name":"slow","nesting":1,"inherited":false,
//!  "state":"S","wait_channel":"futex_wait_queue","held_ns":1000000000,
//!  "location":{"file":"src/main.rs","line":3,"column":5}}]}
//! ```

use super::{StallReport, StalledReader};

/// The value of `schema`: it changes when a field changes its meaning or is removed; new fields do not change
/// it.
const SCHEMA: &str = "quiescent-stall/1";

impl StallReport {
    /// The report as one line of JSON. `schema` is `quiescent-stall/1`; times are in nanoseconds; `domain`,
    /// `name`, `state`, `wait_channel` and `location` are `null` where unknown. A thread without a name has
    /// ended inside its section.
    pub fn to_json(&self) -> String {
        let readers: Vec<_> = self.readers.iter().map(StalledReader::to_json).collect();
        format!(
            "{{\"schema\":\"{SCHEMA}\",\"domain\":{},\"grace_period\":{},\"report\":{},\"age_ns\":{},\
             \"more\":{},\"queued\":{},\"queued_bytes\":{},\"readers\":[{}]}}",
            string(self.domain),
            self.grace_period,
            self.report,
            self.age.as_nanos(),
            self.more,
            self.queued,
            self.queued_bytes,
            readers.join(",")
        )
    }
}

impl StalledReader {
    fn to_json(&self) -> String {
        let location = self.location.map_or("null".to_owned(), |at| {
            let (file, line, column) = (string(Some(at.file())), at.line(), at.column());
            format!("{{\"file\":{file},\"line\":{line},\"column\":{column}}}")
        });
        format!(
            "{{\"thread_id\":{},\"name\":{},\"nesting\":{},\"inherited\":{},\"state\":{},\
             \"wait_channel\":{},\"held_ns\":{},\"location\":{location}}}",
            self.holdout.thread_id,
            string(self.holdout.name.as_deref()),
            self.holdout.nesting,
            self.holdout.inherited,
            string(self.state.map(|c| c.to_string()).as_deref()),
            string(self.wait_channel.as_deref()),
            self.held_for.as_nanos()
        )
    }
}

/// A string with the escapes that JSON requires, or `null`.
fn string(text: Option<&str>) -> String {
    let Some(text) = text else {
        return "null".to_owned();
    };
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use std::panic::Location;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::reader::holdout::Holdout;

    fn reader(thread_id: u32, name: Option<&str>) -> StalledReader {
        let mut holdout = Holdout::new(0, 3);
        holdout.thread_id = thread_id;
        holdout.name = name.map(str::to_owned);
        StalledReader {
            holdout,
            state: None,
            wait_channel: None,
            held_for: Duration::from_nanos(5),
            location: None,
        }
    }

    fn report(readers: Vec<StalledReader>) -> StallReport {
        StallReport {
            domain: None,
            grace_period: 7,
            report: 2,
            age: Duration::from_secs(1),
            readers,
            more: 1,
            queued: u64::MAX,
            queued_bytes: 80,
        }
    }

    fn parsed(report: &StallReport) -> Value {
        let text = report.to_json();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    #[test]
    fn every_field_is_there() {
        let here = Location::caller();
        let mut known = reader(42, Some("slow"));
        known.state = Some('S');
        known.wait_channel = Some("futex_wait".into());
        known.location = Some(here);
        let mut of_parent = reader(43, None);
        of_parent.holdout.inherited = true;
        let value = parsed(&report(vec![known, of_parent]));
        let want = json!({
            "schema": "quiescent-stall/1", "domain": null, "grace_period": 7, "report": 2,
            "age_ns": 1_000_000_000, "more": 1, "queued": u64::MAX, "queued_bytes": 80,
            "readers": [
                {
                    "thread_id": 42, "name": "slow", "nesting": 3, "inherited": false,
                    "state": "S", "wait_channel": "futex_wait", "held_ns": 5,
                    "location": {"file": here.file(), "line": here.line(), "column": here.column()},
                },
                {
                    "thread_id": 43, "name": null, "nesting": 3, "inherited": true,
                    "state": null, "wait_channel": null, "held_ns": 5, "location": null,
                },
            ],
        });
        assert_eq!(value, want);
        assert_eq!(parsed(&report(Vec::new()))["readers"], json!([]));
    }

    #[test]
    fn names_survive_a_round_trip() {
        let all: String = (0..0x180).filter_map(char::from_u32).collect();
        for name in ["\"", "\\", "a\"b\\c\n", "\u{1}\u{1f}\u{7f}", "é漢🦀", &all] {
            let value = parsed(&report(vec![reader(1, Some(name))]));
            assert_eq!(value["readers"][0]["name"], name);
        }
    }

    #[test]
    fn display_formats_the_same_fields() {
        let mut slow = reader(42, Some("slow"));
        slow.state = Some('S');
        slow.wait_channel = Some("futex_wait".into());
        slow.held_for = Duration::from_millis(1234);
        let mut of_parent = reader(0, None);
        of_parent.holdout = Holdout::of_parent(2);
        let text = report(vec![slow, reader(43, None), of_parent]).to_string();
        let want = "\
grace period 7 has waited for 1.000 s (report 2); 18446744073709551615 queued behind it, 80 bytes
  thread 42 \"slow\" (nesting 3), state S in futex_wait, in its section for at least 1.234 s
  thread 43, which ended inside a section (nesting 3), in its section for at least 0.000 s
  2 sections that other threads of the parent had open, seen here for at least 0.000 s
  and 1 others";
        assert_eq!(text, want);
        let gone = report(Vec::new()).to_string();
        assert!(gone.contains("has left meanwhile"), "{gone}");
        let mut named = report(Vec::new());
        named.domain = Some("routes");
        assert!(
            named
                .to_string()
                .starts_with("domain routes: grace period 7 ")
        );
        assert_eq!(parsed(&named)["domain"], "routes");
    }

    #[test]
    fn control_characters_are_escaped_and_others_are_not() {
        let out = string(Some(" \u{1f}\u{7f}\u{e9}\"\\"));
        assert_eq!(out, "\" \\u001f\u{7f}\u{e9}\\\"\\\\\"");
    }
}

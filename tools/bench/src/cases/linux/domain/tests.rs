use super::*;
use crate::cases::fixture::nonsense;
use crate::measure::once::Question;
use quiescent_report::OURS;
use quiescent_report::text::unfolded;

fn tiny() -> DomainOptions {
    DomainOptions {
        sections: crate::cases::linux::sections::tiny(),
        ..DomainOptions::new("true".into())
    }
}

#[test]
fn a_row_for_every_subject_and_case() {
    let subjects = subjects_of(true);
    let rows = sections(&subjects, &tiny(), Control::none()).unwrap();
    for subject in &subjects {
        for case in READ.map(ReadCase::name) {
            let of_both = |row: &&Row| row.subject == subject.name && row.case == case;
            let row = rows.iter().find(of_both);
            assert!(row.is_some_and(|row| row.n == 2), "{} {case}", subject.name);
        }
    }
}

#[test]
fn ours_without_compare_and_each_once() {
    let names = |compare| -> Vec<&str> {
        let subjects = subjects_of(compare);
        subjects.iter().map(|subject| subject.name).collect()
    };
    assert_eq!(names(false), [OURS, DOMAIN, DOMAIN_TURNS, DOMAIN_OWNED]);
    let mut all = names(true);
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn counts_out_of_range_are_refused_before_anything_is_measured() {
    let refused = |change: fn(&mut DomainOptions)| {
        let mut options = tiny();
        change(&mut options);
        nonsense(|control| run(&options, control));
    };
    refused(|options| options.sections.read.rounds = 0);
    refused(|options| options.sections.read.threads = 0);
    refused(|options| options.domains = 0);
    refused(|options| options.domains = MOST_DOMAINS + 1);
    refused(|options| options.objects = 0);
    refused(|options| options.rest_ms = 0);
}

#[test]
fn a_stopped_run_starts_nothing() {
    let control = Control::cancelled();
    assert!(
        sections(&subjects_of(false), &tiny(), control)
            .unwrap()
            .is_empty()
    );
    assert!(pushes(&tiny(), control).unwrap().is_empty());
    assert!(apart(&tiny(), control).unwrap().is_empty());
}

#[test]
fn questions_there_and_back() {
    for ask in [
        DomainAsk::Stalled { calls: 7 },
        DomainAsk::Together { domains: 3 },
        DomainAsk::Resting {
            domains: 5,
            at_once: true,
            ms: 1,
        },
    ] {
        let text = serde_json::to_string(&ask).unwrap();
        assert_eq!(serde_json::from_str::<DomainAsk>(&text).unwrap(), ask);
        assert!(!ask.cases().is_empty() && ask.name().contains("domains"));
    }
}

#[test]
fn text_shows_what_there_is_and_judges_it() {
    let mut report = Report::new("bench domain", 1);
    report.option("domains", 1_000);
    report.option("rest_ms", 3_000);
    for (subject, case, metric, unit, value) in [
        (OURS, "empty", read::METRIC, "ns/pair", 1.0),
        (DOMAIN, "empty", read::METRIC, "ns/pair", 1.5),
        (DOMAIN, "reader stalled", "sleeps", "sleeps", 0.0),
        (DOMAIN, "due together, 10", "fences", "fences", 3.0),
        (DOMAIN, "1000 at rest", "memory_bytes", "bytes", 9e6),
        (DOMAIN, "1000 at rest", "wakeups", "wake-ups", 0.0),
    ] {
        report
            .rows
            .extend(Row::single(subject, case, metric, unit, value));
    }
    let ratios = srcu::ratios(&report, &[DOMAIN]);
    report.rows.extend(ratios);
    let text = unfolded(&text(&report));
    let line = |words: &str| {
        let found = text.lines().find(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("no `{words}` in {text}"))
    };
    assert!(line("CPU time at most 2x").ends_with("yes"), "{text}");
    assert!(line("8 KiB each").ends_with("NO"), "{text}");
    assert!(line("0 wake-ups by a reader").ends_with("not measured"));
    assert!(line("over the process's domain").starts_with("cpu_ns"));
    assert!(text.contains("what happened in 3 s"), "{text}");
    assert!(
        !text.contains("Grace periods, us"),
        "nothing of what there is not"
    );
}

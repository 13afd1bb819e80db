use super::*;
use crate::Faults;

#[test]
fn a_case_is_the_same_after_it_was_text() {
    for seed in 0..300 {
        let case = Case::of_seed(seed);
        let again = Case::from_text("a test", &case.to_text());
        assert_eq!(again, Ok(case), "seed {seed}");
    }
}

#[test]
fn the_same_case_gives_the_same_bytes() {
    for seed in [5, 23] {
        let case = Case::of_seed(seed);
        let again = Case::from_text("a test", &case.to_text()).unwrap();
        let (first, second) = (trace(&case), trace(&again));
        assert!(first.len() > 10_000 && first == second, "seed {seed}");
        assert_eq!(run(&case, true), run(&again, true));
    }
}

#[test]
fn what_is_stuck_is_said() {
    // Faults that never end are as good as an engine that loses a wake-up.
    let stuck = (0..200).map(Case::of_seed).map(|mut case| {
        (case.faults, case.calm) = (Faults::default(), u64::MAX / 4);
        case.faults.lost = 1000;
        case
    });
    let mut cases = stuck.filter(|case| run_without_calm(case).is_some());
    let case = cases.next().expect("most get stuck");
    let words = run_without_calm(&case).unwrap();
    let lost = words.iter().any(|it| it.contains("its wake-up was lost"));
    assert!(lost, "{words:?}");
}

fn run_without_calm(case: &Case) -> Option<Vec<String>> {
    let mut machine = case.machine();
    let over = machine.run_tasks(20_000_000_000);
    (!over).then(|| machine.pending())
}

#[test]
fn bad_text_is_refused_with_its_place() {
    let text = Case::of_seed(1).to_text();
    let said = |text: &str| Case::from_text("f.json", text).unwrap_err().to_string();
    let wrong = text.replacen("\"calm\"", "\"clam\"", 1);
    assert!(said(&wrong).contains("clam") && said(&wrong).contains("f.json"));
    assert!(said("{").contains('1'));
    let far = text.replacen("\"cpu\": ", "\"cpu\": 99", 1);
    assert!(said(&far).contains("an actor on CPU 99"), "{}", said(&far));
    let key = text.replacen("\"smp\"", "\"snp\"", 1);
    assert!(said(&key).contains("did you mean `smp`"));
}

proptest::proptest! {
    #[test]
    fn a_damaged_case_is_read_or_refused(
        seed in 0..50u64,
        at in proptest::num::usize::ANY,
        cut in 0..12usize,
        put in "[\\[\\]{}:,\"a-z0-9\n .-]{0,6}",
    ) {
        let mut text = Case::of_seed(seed).to_text();
        assert!(text.is_ascii());
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        match Case::from_text("f.json", &text) {
            // What was read can be written, and has a machine.
            Ok(case) => {
                let again = Case::from_text("f.json", &case.to_text());
                proptest::prop_assert_eq!(again.as_ref(), Ok(&case));
                if case.options.cpus <= 64 {
                    drop(case.machine());
                }
            }
            Err(crate::Error::File { line, column, .. }) => {
                let lines = text.split('\n').count();
                proptest::prop_assert!(line <= lines, "line {line} of {lines}, column {column}");
            }
            Err(other) => proptest::prop_assert!(!other.to_string().is_empty()),
        }
    }
}

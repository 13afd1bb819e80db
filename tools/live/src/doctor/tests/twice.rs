//! Two words of the command line: of the same one the last counts, of two different ones both.

use super::*;

/// The findings about words, of a line.
fn of(line: &str) -> Vec<Finding> {
    let made = Made::usual()
        .parameter("rcutree", "qhimark", "8")
        .parameter("rcutree", "qlowmark", "100")
        .parameter("rcupdate", "rcu_expedited", "0");
    let mut found = made.command(line).says("parameter");
    found.sort_by(|a, b| a.asked.cmp(&b.asked));
    found
}

#[test]
fn each_of_two_parameters_has_its_finding_and_one_that_is_given_twice_has_one() {
    let words = [
        "rcutree.qhimark=8",
        "rcutree.qhimark=9",
        "rcutree.qlowmark=100",
        "rcutree.qlowmark=7",
        "rcupdate.rcu_expedited=1",
        "rcutree.qhimarx=3",
        "qovld=5",
        "rcutorture.qhimark=1",
    ];
    for first in words {
        for second in words {
            let name = |word: &str| word.split('=').next().map(str::to_owned);
            let mut expected = of(second);
            if name(first) != name(second) {
                expected.extend(of(first));
                expected.sort_by(|a, b| a.asked.cmp(&b.asked));
            }
            assert_eq!(
                of(&format!("{first} {second}")),
                expected,
                "{first} {second}"
            );
        }
    }
    let found = words.map(|word| of(word).len());
    assert_eq!(found, [1, 1, 1, 1, 1, 1, 1, 0], "of each one");
}

#[test]
fn cpus_of_two_lists_are_to_be_offloaded() {
    for (line, cpus, severity) in [
        ("rcu_nocbs=1 nohz_full=2", [1, 2].as_slice(), FINE),
        ("nohz_full=2 rcu_nocbs=1", &[1, 2], FINE),
        ("rcu_nocbs=1 nohz_full=2", &[1], WITHOUT),
        ("rcu_nocbs=1 nohz_full=2", &[2], WITHOUT),
        ("rcu_nocbs=1 rcu_nocbs=2", &[2], FINE),
        ("rcu_nocbs=1 rcu_nocbs=2", &[1], WITHOUT),
    ] {
        let found = Made::usual()
            .command(line)
            .offloaded(cpus)
            .says("offloading");
        let worst = found.iter().map(|it| it.severity).min();
        assert_eq!(worst, Some(severity), "{line}, offloaded {cpus:?}");
    }
}

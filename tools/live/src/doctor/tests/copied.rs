//! Copies: nothing about them comes from the machine that the command runs on. Misspelt words are found
//! without the folders of parameters.

use super::*;

#[test]
fn misspelt_words_are_found_in_a_copied_command_line() {
    let asked = |line: &str| {
        Made {
            folder: tempfile::tempdir().unwrap(),
        }
        .with("proc/cmdline", &format!("quiet {line}\n"))
    };
    for (word, remedy) in [
        ("rcu_nocb=all", "write rcu_nocbs=all"),
        ("rcu_nocb", "write rcu_nocbs=CPUS"),
        ("rcu-nocb-pol", "write rcu_nocb_poll"),
        ("nohz_ful=1-3", "write nohz_full=1-3"),
        ("isolcpu=1-3", "write isolcpus=1-3"),
        (
            "rcutree.jiffies_til_first_fqs=8",
            "write rcutree.jiffies_till_first_fqs=8",
        ),
        ("rcutree.qhimrak=1", "write rcutree.qhimark=1"),
        ("rcutree.rcu_expedited=1", "write rcupdate.rcu_expedited=1"),
        ("rcu.blimit=20", "write rcutree.blimit=20"),
        ("rcu_tree.use_softirq=0", "write rcutree.use_softirq=0"),
        (
            "jiffies_till_next_fq=8",
            "write rcutree.jiffies_till_next_fqs=8",
        ),
        ("rcu_lazy", "write rcutree.enable_rcu_lazy=1"),
        ("enable_rcu_lazy=1", "write rcutree.enable_rcu_lazy=1"),
    ] {
        let all = asked(word).says("parameter");
        assert_eq!(all.len(), 1, "{word}: {all:#?}");
        assert_eq!((all[0].severity, all[0].remedy.as_str()), (WITHOUT, remedy));
    }
    // What is spelt right cannot be read back here, and what is like nothing may exist.
    asked("rcutree.blimit=8").is("parameter", CANNOT, "copy that folder");
    asked("rcutree.something=8").is("parameter", CANNOT, "copy that folder");
    for others in [
        "rcutorture.blimit=8",
        "ro",
        "nohz=on",
        "limit=3",
        "psi=1",
        "rcu.x=1",
    ] {
        asked(others).is_silent("parameter");
    }
}

#[test]
fn what_a_kernel_shows_is_suggested_first() {
    let made = Made::usual()
        .parameter("rcutree", "qhimarq", "3")
        .command("rcutree.qhimarx=8");
    made.is("parameter", WITHOUT, "write rcutree.qhimarq=8");
}

#[test]
fn no_remedy_for_a_copy_is_about_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let made = Made { folder }.with("proc/cmdline", "psi=1 rcu_nocbs=all rcu_nocb_poll\n");
    let all = diagnose(&made.machine());
    assert!(all.len() >= 6, "{all:#?}");
    for it in &all {
        for word in ["run it", "mount /", "as root: mount"] {
            assert!(!it.remedy.contains(word), "{it:#?}");
        }
    }
}

#[test]
fn a_copy_has_no_facts_of_this_machine() {
    let made = Made {
        folder: tempfile::tempdir().unwrap(),
    };
    for (name, target) in [("proc", "/proc"), ("sys", "/sys"), ("boot", "/boot")] {
        std::os::unix::fs::symlink(target, made.folder.path().join(name)).unwrap();
    }
    let machine = made.machine();
    assert_eq!(machine.release, "unknown");
    assert_eq!((&machine.possible, &machine.online), (&None, &None));
    assert!(machine.config.is_none() && machine.command.is_none() && machine.hz.is_none());
    let all = diagnose(&machine);
    assert!(all.iter().all(|it| it.severity == CANNOT), "{all:#?}");
}

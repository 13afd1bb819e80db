//! Made-up trees: complete, older, hidden, with garbage.

use super::*;
use quiescent_live::files::Root;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed after the test.
struct Tree(PathBuf);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quiescent-facts-{}-{number}", std::process::id());
        let tree = Tree(std::env::temp_dir().join(name));
        for (file, text) in files {
            tree.put(file, text.as_bytes());
        }
        tree
    }

    fn put(&self, file: &str, bytes: &[u8]) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, sets: &[(&str, &str)]) -> Result<Facts, Error> {
        read(&Machine::read(Root::new(&self.0)), 3, sets)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fact<'a>(facts: &'a Facts, name: &str) -> &'a Fact {
    let found = facts.list.iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no fact {name}: {:?}", facts.list))
}

const RELEASE: (&str, &str) = ("proc/sys/kernel/osrelease", "6.12.9-amd64\n");
const ONLINE: (&str, &str) = ("sys/devices/system/cpu/online", "0-2,5\n");
const FIRST: &str = "sys/module/rcutree/parameters/jiffies_till_first_fqs";
const DRIVER: &str = "sys/devices/system/cpu/cpuidle/current_driver";

/// The files of an ordinary machine.
fn whole() -> Vec<(&'static str, &'static str)> {
    vec![
        RELEASE,
        ONLINE,
        (
            "boot/config-6.12.9-amd64",
            "CONFIG_HZ=250\nCONFIG_RCU_FANOUT=32\nCONFIG_PREEMPT_RCU=y\n",
        ),
        (FIRST, "8\n"),
        (
            "sys/module/rcutree/parameters/jiffies_till_next_fqs",
            "18446744073709551615\n",
        ),
        ("sys/module/rcutree/parameters/rcu_fanout_leaf", "16\n"),
        ("sys/kernel/rcu_expedited", "0\n"),
        ("sys/module/rcupdate/parameters/rcu_normal", "1\n"),
        ("proc/cmdline", "quiet rcu_nocbs=0\n"),
        ("proc/17/comm", "rcu_preempt\n"),
        ("proc/30/comm", "rcuop/5\n"),
        ("proc/31/comm", "rcuop/1\n"),
        ("proc/cpuinfo", "flags\t\t: fpu hypervisor\n"),
        (DRIVER, "intel_idle\n"),
    ]
}

#[test]
fn what_is_there_is_read_and_every_fact_has_its_place() {
    let tree = Tree::new(&whole());
    let facts = tree.read(&[]).unwrap();
    assert_eq!(facts.cpus, [0, 1, 2, 5]);
    let options = &facts.options;
    assert_eq!((options.cpus, options.hz), (4, 250));
    assert_eq!((options.first_fqs, options.next_fqs), (Some(8), None));
    assert_eq!((options.leaf_fanout, options.fanout), (16, 32));
    assert_eq!((options.expedited, options.normal), (false, true));
    // The model counts CPUs that are on line: 5 is its third.
    assert_eq!(options.nocbs, [1, 3]);
    assert_eq!(facts.idle_loops, [IdleLoop::Classic]);
    assert_eq!(facts.smps.len(), 2);
    assert!(facts.warnings.is_empty(), "{:?}", facts.warnings);
    // The folder exists and the file does not: that kernel has no such parameter.
    let wake = fact(&facts, "rcu_normal_wake_from_gp");
    assert!(!wake.assumed && wake.value == "0" && wake.from.contains("has no"));
    assert!(
        fact(&facts, "jiffies_till_first_fqs")
            .from
            .ends_with("jiffies_till_first_fqs")
    );
    assert!(fact(&facts, "smp").from.contains("virtual machine"));
    assert!(fact(&facts, "early_qs").assumed);
}

#[test]
fn what_is_hidden_is_assumed_and_says_so() {
    let facts = Tree::new(&[]).read(&[]).unwrap();
    assert_eq!((facts.options.cpus, facts.options.hz), (3, 250));
    for name in [
        "cpus",
        "hz",
        "jiffies_till_first_fqs",
        "rcu_normal_wake_from_gp",
        "rcu_expedited",
        "rcu_nocbs",
        "readers",
    ] {
        let fact = fact(&facts, name);
        assert!(fact.assumed && !fact.from.is_empty(), "{fact:?}");
    }
    assert_eq!(facts.idle_loops, [IdleLoop::Classic, IdleLoop::Retain]);
    let newer = Tree::new(&[("proc/sys/kernel/osrelease", "6.18.1\n")]);
    let facts = newer.read(&[]).unwrap();
    let wake = fact(&facts, "rcu_normal_wake_from_gp");
    assert!(
        wake.assumed && wake.value == "1" && wake.from.contains("6.18.1"),
        "{wake:?}"
    );
    assert_eq!(facts.idle_loops, [IdleLoop::Classic, IdleLoop::Retain]);
    let older = Tree::new(&[("proc/sys/kernel/osrelease", "6.6.1\n")]);
    let facts = older.read(&[]).unwrap();
    assert_eq!(facts.idle_loops, [IdleLoop::Classic], "before 6.12");
}

#[test]
fn what_no_file_shows_is_that_of_the_version() {
    for (release, early, migration, latch) in [
        ("6.1.0-18-amd64\n", "off", "0", "none"),
        ("6.12.9\n", "off", "1", "none"),
        ("7.1.3\n", "init", "1", "none"),
        ("7.2.0-rc1\n", "init", "1", "64"),
        ("\n", "off", "1", "none"),
    ] {
        let tree = Tree::new(&[("proc/sys/kernel/osrelease", release)]);
        let facts = tree.read(&[]).unwrap();
        for (name, value) in [
            ("early_qs", early),
            ("timer_migration", migration),
            ("wake_from_gp_latch", latch),
        ] {
            let fact = fact(&facts, name);
            assert!(fact.assumed && fact.value == value, "{release}: {fact:?}");
        }
    }
}

#[test]
fn a_command_line_stands_in_for_threads_that_are_not_to_be_seen() {
    let config = (
        "boot/config-6.12.9-amd64",
        "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL=y\n",
    );
    for (line, nocbs) in [
        ("rcu_nocbs=1,5", vec![1, 3]),
        ("quiet", vec![0, 1, 2, 3]),
        ("rcu_nocbs=all", vec![0, 1, 2, 3]),
    ] {
        let tree = Tree::new(&[RELEASE, ONLINE, config, ("proc/cmdline", line)]);
        let facts = tree.read(&[]).unwrap();
        assert_eq!(facts.options.nocbs, nocbs, "{line}");
        assert!(fact(&facts, "rcu_nocbs").assumed);
    }
}

#[test]
fn garbage_is_an_error_with_the_file_its_content_and_a_remedy() {
    for (file, text, setting) in [
        (FIRST, "many\n", "jiffies_till_first_fqs"),
        (FIRST, "", "jiffies_till_first_fqs"),
        ("sys/kernel/rcu_expedited", "\u{1}yes\n", "rcu_expedited"),
        (
            "sys/module/rcutree/parameters/rcu_fanout_leaf",
            "1000\n",
            "rcu_fanout_leaf",
        ),
        (
            "sys/module/rcutree/parameters/rcu_normal_wake_from_gp",
            "2\n",
            "rcu_normal_wake_from_gp",
        ),
    ] {
        let mut files = whole();
        files.retain(|it| it.0 != file);
        files.push((file, text));
        let tree = Tree::new(&files);
        let said = tree.read(&[]).unwrap_err().to_string();
        let content = text.trim().escape_debug().to_string();
        for words in [file, &content, &format!("--set {setting}=")] {
            assert!(said.contains(words), "{file}: no `{words}` in {said}");
        }
        let value = if setting == "rcu_fanout_leaf" {
            "4"
        } else {
            "1"
        };
        let facts = tree.read(&[(setting, value)]).unwrap();
        assert_eq!(fact(&facts, setting).from, "--set", "{file}");
    }
}

#[test]
fn what_is_given_is_not_read_and_makes_sense() {
    let tree = Tree::new(&whole());
    let facts = tree
        .read(&[("hz", "1000"), ("smp", "serial"), ("idle_loop", "retain")])
        .unwrap();
    assert_eq!((facts.options.hz, facts.smps.len()), (1000, 1));
    assert_eq!(facts.idle_loops, [IdleLoop::Retain]);
    let said = tree.read(&[("hzz", "1000")]).unwrap_err();
    assert!(
        matches!(&said, Error::Usage(why) if why.contains("did you mean `hz`")),
        "{said}"
    );
    assert!(matches!(
        tree.read(&[("smp", "both")]),
        Err(Error::Usage(_))
    ));
}

#[test]
fn what_the_model_does_not_know_is_a_warning() {
    let tree = Tree::new(&[
        RELEASE,
        ("proc/17/comm", "rcu_sched\n"),
        ("proc/cmdline", "nohz=off nohz_full=1-3\n"),
        ("sys/module/rcutree/parameters/use_softirq", "N\n"),
    ]);
    let warnings = tree.read(&[]).unwrap().warnings.join("\n");
    for words in ["not preemptible", "never stop", "nohz_full", "use_softirq"] {
        assert!(warnings.contains(words), "no `{words}` in {warnings}");
    }
}

#[test]
fn a_packed_configuration_is_read_and_a_broken_one_is_not() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"CONFIG_HZ=1000\n").unwrap();
    let packed = packed.finish().unwrap();
    let tree = Tree::new(&[RELEASE]);
    tree.put("proc/config.gz", &packed);
    let facts = tree.read(&[]).unwrap();
    assert_eq!(facts.options.hz, 1000);
    assert!(fact(&facts, "hz").from.contains("/proc/config.gz"));
    tree.put("proc/config.gz", &packed[..packed.len() / 2]);
    assert!(fact(&tree.read(&[]).unwrap(), "hz").assumed);
}

#[test]
fn this_machine_can_be_read() {
    let facts = read(&Machine::here(), 2, &[]).unwrap();
    assert!(facts.options.cpus >= 1 && facts.options.hz >= 24);
    assert_eq!(facts.options.cpus as usize, facts.cpus.len());
}

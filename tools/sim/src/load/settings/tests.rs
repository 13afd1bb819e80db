use super::*;
use crate::{IdleLoop, Smp};
use proptest::prelude::*;
use quiescent_kernel::EarlyQs;
use quiescent_kernel::fast_no_hz::IdleRule;

fn base() -> Options {
    Options::kernel_6_12(8, 1000)
}

fn with(sets: &[(&str, &str)]) -> Result<Options, Error> {
    let mut options = base();
    apply(&mut options, sets).map(|()| options)
}

#[test]
fn every_field_can_be_set_and_is_written_as_it_is_read() {
    let sets = [
        ("cpus", "20"),
        ("hz", "250"),
        ("kernel", "6.17"),
        ("seed", "7"),
        ("smp", "serial"),
        ("clock_early_ppm", "-7"),
        ("idle_loop", "retain"),
        ("fast_no_hz", "v5.10"),
        ("timer_migration", "0"),
        ("nohz", "0"),
        ("preempt", "0"),
        ("rcu_strict_grace_period", "1"),
        ("blimit", "20"),
        ("qhimark", "500"),
        ("qlowmark", "50"),
        ("rcu_nocb_poll", "1"),
        ("rcu_cpus", "2-3"),
        ("policy", "quiescent"),
        ("early_qs", "init"),
        ("accelerate_only_new", "0"),
        ("jiffies_till_first_fqs", "5"),
        ("jiffies_till_next_fqs", "6"),
        ("rcu_normal_wake_from_gp", "1"),
        ("wake_from_gp_latch", "9"),
        ("nocb_overload_wake", "0"),
        ("rcu_expedited", "1"),
        ("rcu_normal", "1"),
        ("rcu_nocbs", "0-3,19"),
        ("rcu_lazy", "1"),
        ("lazy_flush", "2500"),
        ("rcu_fanout_leaf", "8"),
        ("rcu_fanout", "32"),
        ("gp_cpu", "19"),
        ("moves", "1500ms"),
        ("initial_jiffies", "77"),
        ("stepwise", "1"),
        ("cost.ipi_ns", "1234"),
        ("governor", "deepest"),
        ("cpu_dma_latency", "50us"),
    ];
    let options = with(&sets).unwrap();
    assert_eq!((options.cpus, options.hz, options.seed), (20, 250, 7));
    assert_eq!(
        (options.smp, options.idle_loop),
        (Smp::Serial, IdleLoop::Retain)
    );
    assert_eq!(options.early_qs, EarlyQs::Init);
    assert!(options.expedited && options.normal && options.stepwise);
    assert!(matches!(options.idle_rule, IdleRule::FastNoHz(_)));
    assert_eq!((options.first_fqs, options.next_fqs), (Some(5), Some(6)));
    assert_eq!(options.nocbs, [0, 1, 2, 3, 19]);
    assert_eq!(options.lazy_flush_ms, 10_000, "2500 ticks of 4 ms");
    assert_eq!(options.costs.ipi, 1234);
    for (key, value) in sets {
        let written = find(key).unwrap().get(&options);
        let expected = if key == "lazy_flush" { "10s" } else { value };
        assert_eq!(written, expected, "{key}");
    }
    let all = listed(&options);
    assert_eq!(all.len(), SETTINGS.len());
    let again: Vec<(&str, &str)> = all.iter().map(|it| (it.0, it.1.as_str())).collect();
    assert_eq!(with(&again).unwrap(), options);
}

/// A new field of a machine does not compile here until it is named; then it wants a line in the table, and
/// above.
#[test]
fn no_field_is_forgotten() {
    let Options {
        kernel: _,
        cpus: _,
        hz: _,
        smp: _,
        clock_early_ppm: _,
        online_toggle: _,
        overload_wake: _,
        idle_loop: _,
        idle_rule: _,
        timer_migration: _,
        nohz: _,
        preempt: _,
        strict: _,
        blimit: _,
        qhimark: _,
        qlowmark: _,
        nocb_poll: _,
        rcu_cpus: _,
        expedited: _,
        normal: _,
        stepwise: _,
        early_qs: _,
        first_fqs: _,
        next_fqs: _,
        wake_from_gp: _,
        wake_latch: _,
        accelerate_only_new: _,
        nocbs: _,
        none_offloaded: _,
        nohz_full: _,
        patience_ms: _,
        lazy: _,
        lazy_flush_ms: _,
        policy: _,
        leaf_fanout: _,
        fanout: _,
        costs: _,
        jiffies: _,
        gp_cpu: _,
        moves: _,
        idle:
            crate::idling::Setup {
                table: _,
                governor: _,
                latency_limit: _,
                package_limit: _,
                power: _,
            },
        later: _,
        seed: _,
    } = base();
    let costs = SETTINGS.iter().filter(|it| it.key.starts_with("cost."));
    assert_eq!(costs.count(), size_of::<crate::Costs>() / size_of::<u64>());
    let others = SETTINGS.iter().filter(|it| !it.key.starts_with("cost."));
    assert_eq!(
        others.count(),
        46,
        "fields of a machine, but for its costs, `rcu` and `rcu_nocb_default_all`"
    );
}

#[test]
fn the_kernels_whole_names_are_understood() {
    let sets = [
        ("rcutree.jiffies_till_first_fqs", "9"),
        ("rcutree.enable_rcu_lazy", "Y"),
    ];
    let options = with(&sets).unwrap();
    assert_eq!((options.first_fqs, options.lazy), (Some(9), true));
}

#[test]
fn the_later_of_two_counts_whatever_their_names() {
    let options = with(&[("enable_rcu_lazy", "1"), ("rcu_lazy", "0")]).unwrap();
    assert!(!options.lazy);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    for (key, value, said) in [
        ("cpus", "0", "1 to 1048576"),
        ("cpus", "10000000", "MiB of memory"),
        ("cpus", "99999999999999999999", "1 to 1048576"),
        ("hz", "0", "1 to 10000"),
        ("early_qs", "on", "off, scan or init"),
        ("rcu_nocbs", "0-8", "a list of CPUs"),
        ("gp_cpu", "8", "the last one is 7"),
        ("lazy_flush", "soon", "a time such as"),
        ("rcu_cpus", "none", "or `all`"),
        ("rcu_cpus", "8", "a list of CPUs"),
        ("qhimark", "0", "from 1"),
        ("rcu_fanout_leaf", "65", "2 to 64"),
        ("cost.ipi", "1", "did you mean `cost.ipi_ns`"),
        ("ealry_qs", "off", "did you mean `early_qs`"),
        ("jiffies", "4", "did you mean `jiffies_till_next_fqs`"),
    ] {
        let error = with(&[(key, value)]).unwrap_err().to_string();
        assert!(error.contains(said), "{key}={value}: {error}");
        assert!(error.contains(key), "{key}={value}: {error}");
    }
    // A letter of many names is not meant by any of them.
    let error = with(&[("x", "1")]).unwrap_err().to_string();
    assert!(!error.contains("did you mean"), "{error}");
    let error = with(&[("cpus", "1000000"), ("rcu_fanout_leaf", "2")]);
    assert!(
        error.unwrap_err().to_string().contains("give"),
        "a tree that cannot be"
    );
    for text in ["early_qs", "=1", "early_qs="] {
        assert!(assignment(text).is_err(), "{text}");
    }
}

#[test]
fn all_are_offloaded_by_default_where_no_list_says_otherwise() {
    let default = ("rcu_nocb_default_all", "1");
    assert_eq!(with(&[default, ("cpus", "3")]).unwrap().nocbs, [0, 1, 2]);
    assert_eq!(with(&[default, ("rcu_nocbs", "1")]).unwrap().nocbs, [1]);
    let full = with(&[default, ("nohz_full", "6-7")]).unwrap();
    assert_eq!(full.offloaded(), [6, 7]);
    let none = [("rcu_nocbs", "none"), ("nohz_full", "6-7")];
    for order in [none, [none[1], none[0]]] {
        assert!(with(&order).unwrap().offloaded().is_empty(), "{order:?}");
    }
    let not = [("nohz", "0"), ("nohz_full", "6-7")];
    assert!(with(&not).unwrap_err().to_string().contains("nohz=0"));
    let both = [("rcu_cpus", "7"), ("nohz_full", "6-7")];
    assert!(with(&both).unwrap_err().to_string().contains("CPU 7"));
}

#[test]
fn what_does_nothing_is_said() {
    let said = |sets: &[(&str, &str)]| warnings(&with(sets).unwrap()).join("\n");
    assert_eq!(said(&[]), "");
    assert!(said(&[("rcu_lazy", "1")]).contains("set rcu_nocbs as well"));
    assert_eq!(said(&[("rcu_lazy", "1"), ("rcu_nocbs", "all")]), "");
    assert!(said(&[("lazy_flush", "1s")]).contains("rcu_lazy=0"));
    assert!(said(&[("policy", "quiescent")]).contains("rcu_nocbs=none"));
    assert!(said(&[("rcu_nocb_poll", "1")]).contains("rcu_nocbs=none"));
    assert!(said(&[("clock_early_ppm", "5")]).contains("at the same time"));
    assert!(said(&[("nohz", "0"), ("fast_no_hz", "v5.10")]).contains("no tick stops"));
}

#[test]
fn idle_states_are_set_and_what_does_not_go_with_them_is_refused() {
    let sets = [
        ("idle_table", "alder-lake"),
        ("governor", "menu"),
        ("package_limit", "PC8"),
        ("power", "two-states"),
    ];
    let options = with(&sets).unwrap();
    let all = listed(&options);
    let again: Vec<(&str, &str)> = all.iter().map(|it| (it.0, it.1.as_str())).collect();
    assert_eq!(with(&again).unwrap(), options);
    assert!(warnings(&options)[0].contains("FITTED"));
    for (key, value, said) in [
        ("idle_table", "alder-lage", "sandy-bridge"),
        ("governor", "teo", "menu"),
        ("package_limit", "PC9", "PC10"),
        ("power", "none-such", "two-states"),
        ("smp", "serial", "smp=parallel"),
        ("idle_loop", "retain", "idle_loop=classic"),
    ] {
        let with = with(&[&sets[..], &[(key, value)]].concat());
        let error = with.unwrap_err().to_string();
        assert!(error.contains(said), "{key}={value}: {error}");
    }
    let other = [("idle_table", "sandy-bridge"), ("power", "two-states")];
    assert!(with(&other).unwrap_err().to_string().contains("PC10"));
    let nothing = warnings(&with(&[("power", "video")]).unwrap()).join("");
    assert!(nothing.contains("idle_table=none"), "{nothing}");
}

#[test]
fn three_usual_machines_have_short_names() {
    let lazy = with(&[("rcu", "lazy"), ("cpus", "4")]).unwrap();
    assert_eq!((&*lazy.nocbs, lazy.lazy), (&[0, 1, 2, 3][..], true));
    let mixed = with(&[("rcu", "offload"), ("rcu_nocbs", "0-1")]).unwrap();
    assert_eq!(find("rcu").unwrap().get(&mixed), "mixed");
    let lazy_alone = with(&[("rcu", "default"), ("rcu_lazy", "1")]).unwrap();
    assert!(lazy_alone.lazy && lazy_alone.nocbs.is_empty());
}

proptest! {
    #[test]
    fn any_text_is_a_value_or_an_error(
        index in 0..SETTINGS.len(),
        text in prop_oneof![".*", "[0-9]{0,24}", "[0-9.]{1,12}(ns|us|ms|s|min)", "([0-9]{1,3}[-,]?){0,6}"],
    ) {
        let setting = &SETTINGS[index];
        if let Ok(options) = with(&[(setting.key, &text)]) {
            let written = setting.get(&options);
            prop_assert_eq!(with(&[(setting.key, &written)]).unwrap(), options);
        }
        let _ = assignment(&text).map(|(key, value)| with(&[(key, value)]));
    }
}

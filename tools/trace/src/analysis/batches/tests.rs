use super::Batches;
use crate::Kind;
use crate::analysis::spread::Room;
use crate::analysis::tests::run;

#[test]
fn batches_belong_to_their_invoker_and_not_to_the_task_that_it_interrupts() {
    let found = run(
        Kind::Batches,
        "\
         <idle>-0 [001] ..s1. 1.000010: rcu_batch_start: rcu_preempt CBs=4 bl=10
         rcuop/1-27 [000] b.... 1.000012: rcu_batch_start: rcu_preempt CBs=9 bl=10
         <idle>-0 [001] ..s1. 1.000016: rcu_batch_end: rcu_preempt CBs-invoked=3 idle=....
         rcuop/1-27 [003] b.... 1.000112: rcu_batch_end: rcu_preempt CBs-invoked=9 idle=....
         a-5 [001] ..s1. 1.004010: rcu_batch_start: rcu_preempt CBs=1 bl=10
         a-5 [001] ..s1. 1.004018: rcu_batch_end: rcu_preempt CBs-invoked=1 idle=....",
    );
    let table = &found.tables[0];
    let figure = |case, metric| table.figure(case, metric);
    assert_eq!(figure("softirq CPU 1", "batches"), Some(2.0));
    assert_eq!(figure("softirq CPU 1", "invoked"), Some(4.0));
    assert_eq!(figure("softirq CPU 1", "duration_us_avg"), Some(7.0));
    assert_eq!(figure("softirq CPU 1", "spacing_ms_min"), Some(4.0));
    assert_eq!(figure("rcuop/1", "duration_us_max"), Some(100.0));
    assert_eq!(figure("rcuop/1", "spacing_ms_min"), None);
    assert_eq!(figure("(all)", "invoked"), Some(13.0));
    assert_eq!(found.notes, [""; 0]);
}

#[test]
fn a_batch_without_its_start_is_said_and_not_counted() {
    let found = run(
        Kind::Batches,
        "rcuop/1-27 [003] b.... 1.1: rcu_batch_end: rcu_preempt CBs-invoked=9 idle=....",
    );
    assert_eq!(found.tables[0].figure("(all)", "batches"), Some(0.0));
    assert!(found.notes[0].starts_with("1 batches have no start"));
}

#[test]
fn what_runs_in_the_threads_of_a_cpu_is_theirs() {
    let found = run(
        Kind::Batches,
        "\
         rcuc/1-27 [001] b.... 1.1: rcu_batch_start: rcu_preempt CBs=4 bl=10
         rcuc/1-27 [001] b.... 1.2: rcu_batch_end: rcu_preempt CBs-invoked=4 idle=....
         rcu_preempt-15 [002] ..s1. 1.3: rcu_batch_start: rcu_preempt CBs=2 bl=10
         rcu_preempt-15 [002] ..s1. 1.4: rcu_batch_end: rcu_preempt CBs-invoked=2 idle=....
         rcu_exp_gp_kthr-17 [003] ..s1. 1.5: rcu_batch_start: rcu_preempt CBs=1 bl=10
         rcu_exp_gp_kthr-17 [003] ..s1. 1.6: rcu_batch_end: rcu_preempt CBs-invoked=1 idle=....",
    );
    let cases: Vec<&str> = found.tables[0]
        .rows
        .iter()
        .map(|row| row.labels[0].as_str())
        .collect();
    assert_eq!(cases, ["rcuc/1", "softirq CPU 2", "softirq CPU 3", "(all)"]);
}

/// The thirteen starts that were published of a phone; ends were not recorded.
const STARTS: &str = "\
    rcuop/2-33 [002] d..1 10498.892424: rcu_batch_start: rcu_preempt CBs=32 bl=10
    rcuop/3-40 [003] d..1 10498.892637: rcu_batch_start: rcu_preempt CBs=10 bl=10
    rcuop/1-26 [001] d..1 10498.900003: rcu_batch_start: rcu_preempt CBs=18 bl=10
    rcuop/0-15 [000] d..1 10498.900056: rcu_batch_start: rcu_preempt CBs=10 bl=10
    rcuop/2-33 [002] d..1 10498.900083: rcu_batch_start: rcu_preempt CBs=10 bl=10
    rcuop/3-40 [003] d..1 10498.900177: rcu_batch_start: rcu_preempt CBs=18 bl=10
    rcuop/0-15 [000] d..1 10498.908245: rcu_batch_start: rcu_preempt CBs=10 bl=10
    rcuop/1-26 [002] d..1 10498.908385: rcu_batch_start: rcu_preempt CBs=17 bl=10
    rcuop/2-33 [000] d..1 10498.908493: rcu_batch_start: rcu_preempt CBs=11 bl=10
    rcuop/3-40 [003] d..1 10498.908536: rcu_batch_start: rcu_preempt CBs=25 bl=10
    rcuop/0-15 [000] d..1 10498.916187: rcu_batch_start: rcu_preempt CBs=6 bl=10
    rcuop/1-26 [002] d..1 10498.916369: rcu_batch_start: rcu_preempt CBs=17 bl=10
    rcuop/3-40 [003] d..1 10498.916574: rcu_batch_start: rcu_preempt CBs=29 bl=10";

#[test]
fn starts_without_ends_count_in_the_spacing_and_in_what_was_ready() {
    let found = run(Kind::Batches, STARTS);
    let figure = |case, metric| found.tables[0].figure(case, metric);
    assert_eq!(found.tables[0].rows.len(), 5, "four threads, and all");
    let apart = figure("rcuop/3", "spacing_ms_p50").unwrap();
    assert!((apart - 8.038).abs() < 0.001, "{apart}");
    assert_eq!(figure("rcuop/2", "batch_ready_max"), Some(32.0));
    assert_eq!(figure("(all)", "batch_ready_max"), Some(32.0));
    let ready = figure("(all)", "batch_ready_avg").unwrap();
    assert!((ready - 213.0 / 13.0).abs() < 0.001, "{ready}");
    assert_eq!(figure("(all)", "batches"), Some(0.0));
    assert_eq!(figure("rcuop/0", "duration_us_max"), None);
    assert!(
        found.notes[0].starts_with("13 batches have no start or no end"),
        "{:?}",
        found.notes
    );
}

#[test]
fn the_sums_need_no_room() {
    let mut batches = Batches::default();
    batches.all.duration.add(5, &mut Room::none());
    assert_eq!(batches.all.duration.median(), Some(5.0));
}

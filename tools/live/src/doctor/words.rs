//! Known names of RCU's words on the command line, and the nearest of them to a word that is none.

use crate::Machine;
use crate::state::version::Version;

/// Modules of RCU's that are always built in.
pub(super) const MODULES: [&str; 3] = ["rcutree", "rcupdate", "srcutree"];

/// Words without a module that the kernel knows, and that the doctor's rules read.
pub(super) const BARE: [&str; 4] = ["rcu_nocbs", "rcu_nocb_poll", "nohz_full", "isolcpus"];

/// Parameters by module. A kernel has those of its version and its configuration; its folder of parameters
/// says which.
const PARAMETERS: [(&str, &str); 3] = [
    (
        "rcutree",
        "blimit do_rcu_barrier dump_tree enable_rcu_lazy gp_cleanup_delay gp_init_delay gp_preinit_delay \
         jiffies_till_first_fqs jiffies_till_next_fqs jiffies_till_sched_qs jiffies_to_sched_qs \
         kthread_prio nocb_nobypass_lim_per_jiffy nohz_full_patience_delay qhimark qlowmark qovld \
         rcu_delay_page_cache_fill_msec rcu_divisor rcu_fanout_exact rcu_fanout_leaf rcu_kick_kthreads \
         rcu_min_cached_objs rcu_nocb_gp_stride rcu_normal_wake_from_gp rcu_resched_ns rcu_unlock_delay \
         sysrq_rcu use_softirq",
    ),
    (
        "rcupdate",
        "rcu_cpu_stall_cputime rcu_cpu_stall_ftrace_dump rcu_cpu_stall_suppress \
         rcu_cpu_stall_suppress_at_boot rcu_cpu_stall_timeout rcu_exp_cpu_stall_timeout \
         rcu_exp_stall_task_details rcu_expedited rcu_normal rcu_normal_after_boot rcu_self_test \
         rcu_task_collapse_lim rcu_task_contend_lim rcu_task_enqueue_lim rcu_task_ipi_delay \
         rcu_task_shrink_lim rcu_task_stall_info rcu_task_stall_info_mult rcu_task_stall_timeout \
         rcu_tasks_lazy_ms rcu_tasks_rude_lazy_ms rcu_tasks_trace_lazy_ms",
    ),
    (
        "srcutree",
        "big_cpu_lim convert_to_big counter_wrap_check exp_holdoff small_contention_lim srcu_max_nodelay \
         srcu_max_nodelay_phase srcu_retry_check_delay",
    ),
];

/// Parameters that the versions before these do not have.
const SINCE: [(&str, Version); 2] = [
    ("enable_rcu_lazy", Version::new(6, 9)),
    ("rcu_normal_wake_from_gp", Version::new(6, 10)),
];

/// The first version with a parameter, where it is known.
pub(super) fn since(name: &str) -> Option<Version> {
    let found = SINCE.iter().find(|it| it.0 == name);
    found.map(|it| it.1)
}

/// Some version has this parameter in this module.
pub(super) fn is_known(module: &str, name: &str) -> bool {
    let names = PARAMETERS.iter().find(|it| it.0 == module);
    names.is_some_and(|it| it.1.split_whitespace().any(|it| it == name))
}

/// Parameters that this machine shows, and all those that some version has: module, name, and whether it
/// shows it. Its folder may have been copied in part.
fn parameters(machine: &Machine) -> Vec<(&'static str, String, bool)> {
    let mut all = Vec::new();
    for (module, names) in PARAMETERS {
        let folder = format!("/sys/module/{module}/parameters");
        let shown = machine.root.names(&folder);
        let others = names
            .split_whitespace()
            .filter(|it| !shown.iter().any(|own| own == it));
        all.extend(others.map(|it| (module, it.to_owned(), false)));
        all.extend(shown.into_iter().map(|it| (module, it, true)));
    }
    all
}

/// The word that was meant by `name`, which is none: one of a parameter, with its module, or one without a
/// module. `None`: there is none like it. Fewest wrong letters count first, then the module that was given,
/// then whether this machine shows it.
pub(super) fn meant(machine: &Machine, name: &str) -> Option<String> {
    let (module, own) = match name.split_once('.') {
        Some((module, own)) => (Some(module), own),
        None => (None, name),
    };
    if own == "rcu_lazy" {
        return Some("rcutree.enable_rcu_lazy".to_owned());
    }
    let mut near: Vec<((usize, bool, bool), String)> = Vec::new();
    for (of, parameter, is_shown) in parameters(machine) {
        // What is given with its module may be short; a bare word belongs to anything.
        if module.is_some() || parameter.len() >= SPECIFIC || own == parameter {
            let cost = distance(own, &parameter).map(|it| (it, module != Some(of), !is_shown));
            near.extend(cost.map(|cost| (cost, format!("{of}.{parameter}"))));
        }
    }
    if module.is_none() {
        let words = BARE.iter().map(|it| (distance(own, it), *it));
        near.extend(words.filter_map(|(apart, it)| Some(((apart?, false, false), it.to_owned()))));
    }
    near.into_iter().min().map(|it| it.1)
}

/// A parameter's name of this length is unlikely to be a word for something else, with a letter wrong.
const SPECIFIC: usize = 8;

/// Letters that have to be added, taken away, replaced or swapped with the next one; none if they are more
/// than one, of ten letters or more two.
fn distance(a: &str, b: &str) -> Option<usize> {
    let length = |text: &str| text.chars().count();
    let most = match length(a).min(length(b)) {
        0..5 => 0,
        5..10 => 1,
        _ => 2,
    };
    let apart = strsim::osa_distance(a, b);
    (apart <= most).then_some(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_by_a_letter_or_two() {
        for (a, b, apart) in [
            ("rcu_nocb", "rcu_nocbs", Some(1)),
            ("jiffies_til_first_fqs", "jiffies_till_first_fqs", Some(1)),
            ("qhimrak", "qhimark", Some(1)),
            ("jiffies_till_fisrt_fq", "jiffies_till_first_fqs", Some(2)),
            ("blimit", "blimit", Some(0)),
            ("blmt", "blimit", None),
            ("qovl", "qovld", None),
            ("quiet", "qovld", None),
        ] {
            assert_eq!(distance(a, b), apart, "{a} {b}");
            assert_eq!(distance(b, a), apart, "{b} {a}");
        }
    }
}

//! Events with messages of their own, by their number and fields: those of `ftrace_event.proto` and of the
//! messages beside it.

const WAKEUP: &[&str] = &["comm", "pid", "prio", "success", "target_cpu"];
const SOFTIRQ: &[&str] = &["vec"];
const WORK: &[&str] = &["work", "function"];

/// `sched_switch`, of which the compact form gives the fields as well.
pub(in crate::perfetto) const SWITCH: u32 = 4;

/// `sched_waking`, likewise.
pub(in crate::perfetto) const WAKING: u32 = 20;

/// Messages of their own: the number in `FtraceEvent`, the event, and its fields from number 1 on.
pub(super) const TYPED: [(u32, &str, &[&str]); 20] = [
    (3, "tracing_mark_write", &["ip", "buf"]),
    (
        SWITCH,
        "sched_switch",
        &[
            "prev_comm",
            "prev_pid",
            "prev_prio",
            "prev_state",
            "next_comm",
            "next_pid",
            "next_prio",
        ],
    ),
    (13, "cpu_idle", &["state", "cpu_id"]),
    (17, "sched_wakeup", WAKEUP),
    (WAKING, "sched_waking", WAKEUP),
    (24, "softirq_entry", SOFTIRQ),
    (25, "softirq_exit", SOFTIRQ),
    (26, "softirq_raise", SOFTIRQ),
    (36, "irq_handler_entry", &["irq", "name"]),
    (37, "irq_handler_exit", &["irq", "ret"]),
    (56, "workqueue_activate_work", WORK),
    (57, "workqueue_execute_end", WORK),
    (58, "workqueue_execute_start", WORK),
    (59, "workqueue_queue_work", WORK),
    (114, "sched_wakeup_new", WAKEUP),
    (329, "sys_enter", &["id"]),
    (553, "hrtimer_expire_entry", &["hrtimer", "now", "function"]),
    (
        557,
        "timer_expire_entry",
        &["timer", "now", "function", "baseclk"],
    ),
    (330, "sys_exit", &["id", "ret"]),
    (
        236,
        "task_rename",
        &["pid", "oldcomm", "newcomm", "oom_score_adj"],
    ),
];

//! Events with messages of their own, by their number and fields; and the kernel's text of the events that
//! this crate decodes. Numbers are those of `ftrace_event.proto` and of the messages beside it.

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

const WAKEUP_TEXT: &str = "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:cpu}";
const SOFTIRQ_TEXT: &str = "vec={vec} [action={vec:softirq}]";

/// The kernel's text of the events that this crate decodes.
pub(super) const RECIPES: [(&str, &str); 34] = [
    ("tracing_mark_write", "{buf}"),
    (
        "sched_switch",
        "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={prev_state:state} \
         ==> next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}",
    ),
    ("cpu_idle", "state={state} cpu_id={cpu_id}"),
    ("sched_wakeup", WAKEUP_TEXT),
    ("sched_wakeup_new", WAKEUP_TEXT),
    ("sched_waking", WAKEUP_TEXT),
    ("softirq_entry", SOFTIRQ_TEXT),
    ("softirq_exit", SOFTIRQ_TEXT),
    ("softirq_raise", SOFTIRQ_TEXT),
    ("sys_enter", "NR {id} ()"),
    ("sys_exit", "NR {id} = {ret}"),
    (
        "workqueue_execute_start",
        "work struct {work:hex}: function {function:function}",
    ),
    (
        "hrtimer_expire_entry",
        "hrtimer={hrtimer:hex} function={function:function} now={now}",
    ),
    (
        "timer_expire_entry",
        "timer={timer:hex} function={function:function} now={now} baseclk={baseclk}",
    ),
    (
        "tick_stop",
        "success={success} dependency={dependency:needs}",
    ),
    ("rcu_utilization", "{s}"),
    ("rcu_grace_period", "{rcuname} {gp_seq} {gpevent}"),
    (
        "rcu_future_grace_period",
        "{rcuname} {gp_seq} {gp_seq_req} {level} {grplo} {grphi} {gpevent}",
    ),
    (
        "rcu_grace_period_init",
        "{rcuname} {gp_seq} {level} {grplo} {grphi} {qsmask:bits}",
    ),
    ("rcu_exp_grace_period", "{rcuname} {gpseq} {gpevent}"),
    ("rcu_nocb_wake", "{rcuname} {cpu} {reason}"),
    ("rcu_preempt_task", "{rcuname} {gp_seq} {pid}"),
    ("rcu_unlock_preempted_task", "{rcuname} {gp_seq} {pid}"),
    (
        "rcu_quiescent_state_report",
        "{rcuname} {gp_seq} {mask:bits}>{qsmask:bits} {level} {grplo} {grphi} {gp_tasks}",
    ),
    ("rcu_sr_normal", "{rcuname} rhp={rhp:hex} event={srevent}"),
    ("rcu_fqs", "{rcuname} {gp_seq} {cpu} {qsevent}"),
    (
        "rcu_callback",
        "{rcuname} rhp={rhp:hex} func={func:function} {qlen}",
    ),
    (
        "rcu_kvfree_callback",
        "{rcuname} rhp={rhp:hex} func={offset} {qlen}",
    ),
    (
        "rcu_invoke_callback",
        "{rcuname} rhp={rhp:hex} func={func:function}",
    ),
    (
        "rcu_invoke_kvfree_callback",
        "{rcuname} rhp={rhp:hex} func={offset}",
    ),
    (
        "rcu_invoke_kfree_bulk_callback",
        "{rcuname} bulk={p:hex} nr_records={nr_records}",
    ),
    ("rcu_batch_start", "{rcuname} CBs={qlen} bl={blimit}"),
    ("rcu_batch_end", "{rcuname} CBs-invoked={callbacks_invoked}"),
    (
        "rcu_barrier",
        "{rcuname} {s} cpu {cpu} remaining {cnt} # {done}",
    ),
];

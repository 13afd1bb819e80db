//! The kernel's formats of the events in recorded traces, out of which the fields of an event are read.

use super::encode::Line;

/// A field's value.
pub enum Field {
    Text(String),
    Signed(i64),
    Unsigned(u64),
    Function(String),
}

/// The names of an event's fields and how its text has them: `n` a number, `x` bits or a pointer, `s` text,
/// `f` a function. What stands between them are the other words of the format.
fn format_of(event: &str) -> &'static [(&'static str, char, &'static str)] {
    match event {
        "rcu_utilization" => &[("s", 'l', "")],
        "rcu_grace_period" => &[
            ("rcuname", 's', ""),
            ("gp_seq", 'n', ""),
            ("gpevent", 's', ""),
        ],
        "rcu_fqs" => &[
            ("rcuname", 's', ""),
            ("gp_seq", 'n', ""),
            ("cpu", 'n', ""),
            ("qsevent", 's', ""),
        ],
        "rcu_nocb_wake" => &[("rcuname", 's', ""), ("cpu", 'n', ""), ("reason", 's', "")],
        "rcu_future_grace_period" => &[
            ("rcuname", 's', ""),
            ("gp_seq", 'n', ""),
            ("gp_seq_req", 'n', ""),
            ("level", 'n', ""),
            ("grplo", 'n', ""),
            ("grphi", 'n', ""),
            ("gpevent", 's', ""),
        ],
        "rcu_grace_period_init" => &[
            ("rcuname", 's', ""),
            ("gp_seq", 'n', ""),
            ("level", 'n', ""),
            ("grplo", 'n', ""),
            ("grphi", 'n', ""),
            ("qsmask", 'x', ""),
        ],
        "rcu_quiescent_state_report" => &[
            ("rcuname", 's', ""),
            ("gp_seq", 'n', ""),
            ("mask", 'x', ""),
            ("qsmask", 'x', ""),
            ("level", 'n', ""),
            ("grplo", 'n', ""),
            ("grphi", 'n', ""),
            ("gp_tasks", 'n', ""),
        ],
        "rcu_callback" => &[
            ("rcuname", 's', ""),
            ("rhp", 'x', "rhp="),
            ("func", 'f', "func="),
            ("qlen", 'n', ""),
        ],
        "rcu_invoke_callback" => &[
            ("rcuname", 's', ""),
            ("rhp", 'x', "rhp="),
            ("func", 'f', "func="),
        ],
        "rcu_invoke_kvfree_callback" => &[
            ("rcuname", 's', ""),
            ("rhp", 'x', "rhp="),
            ("offset", 'n', "func="),
        ],
        "rcu_invoke_kfree_bulk_callback" => &[
            ("rcuname", 's', ""),
            ("p", 'x', "bulk=0x"),
            ("nr_records", 'n', "nr_records="),
        ],
        "rcu_batch_start" => &[
            ("rcuname", 's', ""),
            ("qlen", 'n', "CBs="),
            ("blimit", 'n', "bl="),
        ],
        "rcu_batch_end" => &[
            ("rcuname", 's', ""),
            ("callbacks_invoked", 'n', "CBs-invoked="),
        ],
        "rcu_sr_normal" => &[
            ("rcuname", 's', ""),
            ("rhp", 'x', "rhp=0x"),
            ("srevent", 's', "event="),
        ],
        "rcu_unlock_preempted_task" | "rcu_preempt_task" => {
            &[("rcuname", 's', ""), ("gp_seq", 'n', ""), ("pid", 'n', "")]
        }
        "hrtimer_expire_entry" => &[
            ("hrtimer", 'x', "hrtimer="),
            ("function", 'f', "function="),
            ("now", 'n', "now="),
        ],
        "timer_expire_entry" => &[
            ("timer", 'x', "timer="),
            ("function", 'f', "function="),
            ("now", 'n', "now="),
            ("baseclk", 'n', "baseclk="),
        ],
        "cpu_idle" => &[("state", 'n', "state="), ("cpu_id", 'n', "cpu_id=")],
        "softirq_entry" | "softirq_exit" => &[("vec", 'n', "vec=")],
        "sched_wakeup" | "sched_waking" => &[
            ("comm", 's', "comm="),
            ("pid", 'n', "pid="),
            ("prio", 'n', "prio="),
            ("cpu", 'n', "target_cpu="),
        ],
        "sched_switch" => &[
            ("prev_comm", 's', "prev_comm="),
            ("prev_pid", 'n', "prev_pid="),
            ("prev_prio", 'n', "prev_prio="),
            ("prev_state", 'b', "prev_state="),
            ("next_comm", 's', "next_comm="),
            ("next_pid", 'n', "next_pid="),
            ("next_prio", 'n', "next_prio="),
        ],
        "tracing_mark_write" => &[("buf", 'l', "")],
        other => panic!("{other} is in no recorded trace"),
    }
}

/// An event's fields, out of its text.
pub fn fields(line: &Line) -> Vec<(&'static str, Field)> {
    let masks = line.text.replace('>', " ");
    let mut words = masks.split_whitespace();
    let mut next = |start: &str| {
        words
            .find_map(|word| word.strip_prefix(start))
            .expect(start)
            .to_owned()
    };
    let of = |&(name, kind, start): &(&'static str, char, &str)| {
        if kind == 'l' {
            return (name, Field::Text(line.text.clone()));
        }
        let word = next(start);
        let hex = || u64::from_str_radix(&word, 16).expect("hexadecimal");
        let value = match kind {
            's' => Field::Text(word),
            'f' => Field::Function(word),
            'x' => Field::Unsigned(hex()),
            'b' => Field::Unsigned(state(&word)),
            _ => Field::Signed(word.parse().expect("a number")),
        };
        (name, value)
    };
    format_of(&line.event).iter().map(of).collect()
}

/// The bits of a task's state.
fn state(letters: &str) -> u64 {
    let bits = [
        ('S', 1),
        ('D', 2),
        ('T', 4),
        ('t', 8),
        ('X', 16),
        ('Z', 32),
        ('P', 64),
        ('I', 128),
        ('+', 256),
    ];
    bits.iter()
        .filter(|(letter, _)| letters.contains(*letter))
        .map(|(_, bit)| bit)
        .sum()
}

/// The bits of the irq-info column.
pub fn flags(letters: &str) -> u64 {
    let letters = letters.as_bytes();
    let at = |place: usize| letters.get(place).copied().unwrap_or(b'.');
    let first = match at(0) {
        b'd' => 0x01,
        b'D' => 0x81,
        b'b' => 0x80,
        _ => 0,
    };
    let second = match at(1) {
        b'N' => 0x24,
        b'n' => 0x04,
        b'p' => 0x20,
        _ => 0,
    };
    let third = match at(2) {
        b'h' => 0x08,
        b's' => 0x10,
        b'H' => 0x18,
        _ => 0,
    };
    first | second | third
}

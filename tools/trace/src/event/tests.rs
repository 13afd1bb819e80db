use super::*;
use crate::Reader;
use std::collections::BTreeMap;

fn decode(event: &str, text: &str) -> Result<Event<'static>, Fault> {
    // The test needs both for longer.
    of_text(event.to_owned().leak(), text.to_owned().leak())
}

#[test]
fn scheduler_events_in_the_kernels_and_trace_cmds_form() {
    let wakeup = Event::Wakeup {
        task: "rcu gp:1",
        pid: 15,
        target: 1,
        new: false,
    };
    for text in [
        "comm=rcu gp:1 pid=15 prio=120 target_cpu=001",
        "comm=rcu gp:1 pid=0xf (15) prio=0x78 (120) success=1 target_cpu=0x1 (1)",
        "rcu gp:1:15 [120] success=1 CPU:001",
    ] {
        assert_eq!(decode("sched_wakeup", text), Ok(wakeup), "{text}");
    }
    let switch = Event::Switch {
        prev: "swapper/1",
        prev_pid: 0,
        state: "R",
        next: "rcu_preempt",
        next_pid: 15,
    };
    for text in [
        "prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=rcu_preempt next_pid=15 \
         next_prio=120",
        "prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0x0 next_comm=rcu_preempt next_pid=15 \
         next_prio=120",
        "swapper/1:0 [120] R ==> rcu_preempt:15 [120]",
    ] {
        assert_eq!(decode("sched_switch", text), Ok(switch), "{text}");
    }
}

#[test]
fn timers_and_idle() {
    let tick = "hrtimer=ff function=tick_nohz_handler now=1427011773";
    let plugin = "hrtimer=0xff now=1427011773 function=tick_nohz_handler/0x0";
    for text in [tick, plugin] {
        assert_eq!(
            decode("hrtimer_expire_entry", text),
            Ok(Event::Tick {
                now_ns: 1_427_011_773
            })
        );
    }
    assert_eq!(
        decode(
            "hrtimer_expire_entry",
            "hrtimer=ff function=hrtimer_wakeup now=1"
        ),
        Ok(Event::Hrtimer {
            function: "hrtimer_wakeup"
        })
    );
    assert_eq!(
        decode(
            "timer_expire_entry",
            "timer=ff function=process_timeout now=4294668680 baseclk=1"
        ),
        Ok(Event::Timer {
            function: "process_timeout",
            jiffies: 4_294_668_680,
            base: Some(1),
        })
    );
    for text in ["state=4294967295 cpu_id=6", "state=-1 cpu_id=6"] {
        assert_eq!(decode("cpu_idle", text), Ok(Event::IdleExit { cpu: 6 }));
    }
    let entry = Event::IdleEntry { cpu: 6, state: 1 };
    assert_eq!(decode("cpu_idle", "state=1 cpu_id=6"), Ok(entry));
    let softirq = decode("softirq_entry", "vec=9 [action=RCU]");
    assert_eq!(softirq, Ok(Event::Softirq { vec: 9 }));
}

#[test]
fn events_of_rcu() {
    let cases = [
        (
            "rcu_grace_period",
            "rcu_preempt -1095 start",
            Event::GracePeriod {
                seq: -1095,
                what: "start",
            },
        ),
        (
            "rcu_grace_period_init",
            "rcu_preempt -1095 1 16 31 ffff",
            Event::NodeInit {
                level: 1,
                first_cpu: 16,
                mask: 0xffff,
            },
        ),
        (
            "rcu_quiescent_state_report",
            "rcu_preempt -1095 9f>40 0 0 7 0",
            Event::Report {
                level: 0,
                first_cpu: 0,
                cleared: 0x9f,
                left: 0x40,
            },
        ),
        (
            "rcu_fqs",
            "rcu_preempt -1108 1 dti",
            Event::Scan {
                cpu: 1,
                what: "dti",
            },
        ),
        (
            "rcu_nocb_wake",
            "rcu_preempt 5 FirstQ",
            Event::NocbWake {
                cpu: 5,
                what: "FirstQ",
            },
        ),
        (
            "rcu_batch_start",
            "rcu_preempt CBs=2 bl=10",
            Event::BatchStart { callbacks: 2 },
        ),
        (
            "rcu_batch_start",
            "rcu_preempt CBs=1/7 bl=10",
            Event::BatchStart { callbacks: 7 },
        ),
        (
            "rcu_batch_end",
            "rcu_preempt CBs-invoked=1 idle=...R",
            Event::BatchEnd { invoked: 1 },
        ),
        (
            "rcu_invoke_callback",
            "rcu_preempt rhp=ff88 func=i_callback",
            Event::Invoke {
                head: 0xff88,
                function: "i_callback",
            },
        ),
        (
            "rcu_invoke_kvfree_callback",
            "rcu_preempt rhp=ff88 func=304",
            Event::InvokeKvfree { head: 0xff88 },
        ),
        (
            "rcu_kvfree_callback",
            "rcu_preempt rhp=ff88 func=304 2",
            Event::Kvfree { head: 0xff88 },
        ),
        ("rcu_utilization", "Start context switch", Event::Other),
    ];
    for (event, text, expected) in cases {
        assert_eq!(decode(event, text), Ok(expected), "{event} {text}");
    }
}

#[test]
fn events_of_rcu_with_names_for_all_fields() {
    let cases = [
        (
            "rcu_grace_period",
            "rcuname=(0xffff88810905900c:rcu_preempt) gp_seq=0xfffffffffffffbb9 (-1095) \
             gpevent=(0xffff888109059018:start)",
            Event::GracePeriod {
                seq: -1095,
                what: "start",
            },
        ),
        (
            "rcu_grace_period",
            "rcuname=rcu_preempt gp_seq=-1095 gpevent=end",
            Event::GracePeriod {
                seq: -1095,
                what: "end",
            },
        ),
        (
            "rcu_quiescent_state_report",
            "rcuname=rcu_preempt gp_seq=-1095 mask=31 qsmask=0x40 (64) level=0 grplo=0x10 (16) grphi=31 \
             gp_tasks=0",
            Event::Report {
                level: 0,
                first_cpu: 16,
                cleared: 31,
                left: 64,
            },
        ),
        (
            "rcu_callback",
            "rcuname=rcu_preempt rhp=0xff88 func=i_callback+0x0/0x40 (-2126303136) qlen=3",
            Event::Callback {
                head: 0xff88,
                function: "i_callback",
            },
        ),
    ];
    for (event, text, expected) in cases {
        assert_eq!(decode(event, text), Ok(expected), "{event} {text}");
    }
    let address = decode(
        "hrtimer_expire_entry",
        "hrtimer=0xff function=0xffffffff81 now=1",
    );
    assert_eq!(address, Err(Fault::Address));
}

#[test]
fn a_missing_field_is_named() {
    let cases = [
        ("rcu_grace_period", "rcu_preempt -1095", "gpevent"),
        (
            "rcu_grace_period_init",
            "rcu_preempt -1095 0 70000 7 ff",
            "grplo",
        ),
        (
            "rcu_quiescent_state_report",
            "rcu_preempt 1 ff 0 0 7",
            "qsmask",
        ),
        ("rcu_callback", "rcu_preempt func=a", "rhp"),
        ("sched_wakeup", "comm=a pid=1", "target_cpu"),
        ("sched_switch", "odd", "prev_comm"),
        ("sched_switch", "a:1 [120] S", "prev_state"),
        ("cpu_idle", "state=1 cpu_id=70000", "cpu_id"),
    ];
    for (event, text, field) in cases {
        assert_eq!(decode(event, text), Err(Fault::Field(field)), "{event}");
    }
    let hidden = decode("rcu_callback", "rcu_preempt rhp=(____ptrval____) func=a 1");
    assert_eq!(hidden, Err(Fault::Hidden));
}

#[test]
fn system_calls_by_number_and_by_name() {
    let entered = |call| Ok(Event::SysEnter { call });
    assert_eq!(decode("sys_enter", "NR 87 (7ffc, 0, 0)"), entered("87"));
    assert_eq!(
        decode("sys_enter_unlink", "pathname: 0x7f"),
        entered("unlink")
    );
    assert_eq!(decode("sys_unlink(pathname", "7ffc1)"), entered("unlink"));
    assert_eq!(decode("sys_unlink", "(pathname: 7ffc1)"), entered("unlink"));
    assert_eq!(decode("sys_unlink", "-> 0x0"), Ok(Event::SysExit));
    assert_eq!(decode("sys_enter", "id=87 args=ARRAY[00]"), entered("87"));
    assert_eq!(decode("sys_exit", "NR 87 = 0"), Ok(Event::SysExit));
    assert_eq!(decode("sys_exit_unlink", "0x0"), Ok(Event::SysExit));
    assert_eq!(decode("sys_enter", "87"), Err(Fault::Field("id")));
    assert_eq!(decode("sys_enter", ""), Err(Fault::Field("id")));
}

#[test]
fn what_is_asked_for_and_what_needs_the_tick() {
    let wanted = Event::FutureGp {
        wanted: -456,
        what: "Startleaf",
    };
    assert_eq!(
        decode(
            "rcu_future_grace_period",
            "rcu_preempt -460 -456 0 0 7 Startleaf"
        ),
        Ok(wanted)
    );
    let expedited = Event::Expedited {
        seq: -4,
        what: "snap",
    };
    for text in [
        "rcu_preempt -4 snap",
        "rcuname=(0xff:rcu_preempt) gpseq=-4 gpevent=(0xff:snap)",
    ] {
        assert_eq!(decode("rcu_exp_grace_period", text), Ok(expedited));
    }
    let barrier = "rcu_preempt LastCB cpu -1 remaining 0 # 5";
    assert_eq!(
        decode("rcu_barrier", barrier),
        Ok(Event::Barrier { what: "LastCB" })
    );
    assert_eq!(decode("rcu_barrier", "rcu_preempt"), Err(Fault::Field("s")));
    let kept = Event::TickStop {
        stopped: false,
        dependency: "RCU",
    };
    assert_eq!(decode("tick_stop", "success=0 dependency=RCU"), Ok(kept));
    let bulk = Event::InvokeBulk { records: 3 };
    assert_eq!(
        decode(
            "rcu_invoke_kfree_bulk_callback",
            "rcu_preempt bulk=0x1 nr_records=3"
        ),
        Ok(bulk)
    );
    let waking = Event::Waking {
        task: "a b",
        pid: 3,
        target: 1,
    };
    assert_eq!(
        decode("sched_waking", "comm=a b pid=3 prio=120 target_cpu=001"),
        Ok(waking)
    );
    assert_eq!(
        decode("softirq_exit", "vec=9 [action=RCU]"),
        Ok(Event::SoftirqExit { vec: 9 })
    );
}

/// Texts of the common events, whole, with a byte of them gone or another one in its place.
#[test]
fn exact_text_says_what_any_text_says() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/b-nocb-file100-cut.txt.xz"
    );
    let mut reader = Reader::new(path, crate::open(path).expect("opens"));
    let (mut whole, mut damaged) = (0, 0);
    let mut read = BTreeMap::new();
    let mut n = 0;
    while let Some(record) = reader.next_record().expect("reads") {
        let met = read.entry(record.event().to_owned()).or_insert([0u32; 2]);
        met[0] += 1;
        // Of every kind the first ones, and then some.
        if met[0] > 300 && met[0] % 50 != 0 {
            continue;
        }
        n += 1;
        let check = |text: &str| {
            let Ok(found) = table::decode(record.event(), &mut Exact(text)) else {
                return 0;
            };
            let other = of_any_text(record.event(), text);
            assert_eq!(other, Ok(found), "{}: {text}", record.event());
            1
        };
        let found = check(record.text());
        met[1] += found;
        whole += found;
        let at = n * 7 % record.text().len().max(1);
        for put in [
            "",
            " ",
            "=",
            "7",
            "-",
            "\t",
            "x",
            "é",
            " pid=9 ",
            " next_pid=3 ",
            "+",
        ] {
            if record.text().is_ascii() && at < record.text().len() {
                damaged += check(&format!(
                    "{}{put}{}",
                    &record.text()[..at],
                    &record.text()[at + 1..]
                ));
            }
        }
    }
    assert!(whole > 500 && damaged > 1000, "{whole} {damaged}");
    let by_place = read.iter().filter(|(_, [_, found])| *found > 0);
    assert!(by_place.count() >= 18, "{read:?}");
}

#[test]
fn a_first_run_is_a_wake_up_of_its_own_kind() {
    let text = "comm=b pid=7 prio=120 target_cpu=001";
    let new = |event| {
        matches!(
            decode(event, text),
            Ok(Event::Wakeup {
                task: "b",
                pid: 7,
                new: true,
                ..
            })
        )
    };
    assert!(new("sched_wakeup_new") && !new("sched_wakeup"));
}

#[test]
fn numbers_of_cpus_have_sixteen_bits() {
    let idle = |cpu: u32| decode("cpu_idle", &format!("state=1 cpu_id={cpu}"));
    assert_eq!(
        idle(65_535),
        Ok(Event::IdleEntry {
            cpu: 65_535,
            state: 1
        })
    );
    assert_eq!(idle(65_536), Err(Fault::Field("cpu_id")));
}

#[test]
fn a_hidden_pointer_is_another_fault_than_a_bad_one() {
    let callback = |head: &str| decode("rcu_callback", &format!("rcu_preempt rhp={head} func=f 1"));
    assert_eq!(callback("(____ptrval____)"), Err(Fault::Hidden));
    assert_eq!(callback("xyz"), Err(Fault::Field("rhp")));
}

#[test]
fn the_name_of_a_task_ends_at_the_next_field_and_at_no_other_equals_sign() {
    let name = |comm: &str| {
        let text = format!("comm={comm} pid=7 prio=120 target_cpu=001");
        match decode("sched_wakeup", &text) {
            Ok(Event::Wakeup { task, pid: 7, .. }) => task.to_owned(),
            other => panic!("{text}: {other:?}"),
        }
    };
    for comm in ["a=b", "a pod=3", "xpid=3", "a qid=3", "=", "pid=", "a b"] {
        assert_eq!(name(comm), comm);
    }
}

/// Every event that asks for fields is asked for them, by the names of the kernel's formats.
#[test]
fn what_a_trace_that_is_no_text_stores_is_what_the_event_asks_for() {
    let names = |event| needs(event).into_iter().map(|it| it.0).collect::<Vec<_>>();
    let report = ["mask", "qsmask", "level", "grplo"];
    assert_eq!(names("rcu_quiescent_state_report"), report);
    assert_eq!(names("timer_expire_entry"), ["function", "now", "baseclk"]);
    assert_eq!(names("hrtimer_expire_entry"), ["function", "now"]);
    assert_eq!(names("rcu_batch_start"), ["qlen"]);
    assert_eq!(names("sys_enter_openat"), [""; 0]);
    assert_eq!(names("softirq_raise"), [""; 0]);
    let state = needs("sched_switch")[2];
    assert_eq!(state, ("prev_state", Some(Text::State)));
}

#[test]
fn fields_without_text_and_without_a_field() {
    let mut fields = Fields::default();
    let text = "rcu_barrier x tick_nohz_handler";
    fields.text(0, Span(14, text.len() as u32));
    let missing = of_fields("hrtimer_expire_entry", &fields, text);
    assert_eq!(missing, Err(Fault::Field("now")));
    fields.number(1, 7);
    let tick = of_fields("hrtimer_expire_entry", &fields, text);
    assert_eq!(tick, Ok(Event::Tick { now_ns: 7 }));
    fields.number(1, u64::MAX);
    let negative = of_fields("hrtimer_expire_entry", &fields, text);
    assert_eq!(negative, Err(Fault::Field("now")));
}

#[test]
fn numbers_that_stand_for_a_text() {
    let said = |how, number| {
        let mut out = Vec::new();
        push_text(&mut out, how, number, None);
        String::from_utf8(out).expect("is text")
    };
    let states = [0, 1, 2, 0x100, 0x102, 0x84].map(|it| said(Text::State, it));
    assert_eq!(states, ["R", "S", "D", "R+", "D+", "T|I"]);
    let needs = [0, 4, 16, 3].map(|it| said(Text::Dependency, it));
    assert_eq!(needs, ["NONE", "SCHED", "RCU", "?"]);
    assert_eq!(said(Text::Function, 0xff81), "0xff81");
    assert_eq!(said(Text::Word, 87), "87");
    assert_eq!(said(Text::Word, -3i64 as u64), "-3");
}

#[test]
fn a_probe_sees_a_node_before_its_bits_are_cleared() {
    let of = |mask: &str, qsmask: &str| {
        let text =
            format!("(rcu_report_qs_rnp+0x0/0x130) mask={mask} qsmask={qsmask} level=0 grplo=0");
        match of_text("rcu_quiescent_state_report", &text) {
            Ok(Event::Report { cleared, left, .. }) => Some((cleared, left)),
            Ok(Event::Other) => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(of("0x2", "0xf"), Some((2, 0xd)));
    assert_eq!(of("0x3", "0x1"), Some((1, 0)));
    assert_eq!(of("0x2", "0x1"), None, "its bit was cleared before");
    let ended = of_text(
        "rcu_batch_end",
        "(rcu_segcblist_add_len+0x0/0x20) callbacks_invoked=-12",
    );
    assert_eq!(ended, Ok(Event::BatchEnd { invoked: 12 }));
}

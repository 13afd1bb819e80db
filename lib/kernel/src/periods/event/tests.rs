//! The texts of trace events.

use super::*;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use quiescent_engine::seq::Word;

fn line(event: Event) -> String {
    alloc::format!("{}: {}", event.name(), event.text("rcu_preempt"))
}

fn seq(n: Word) -> Seq {
    Seq::from_raw(n)
}

#[test]
fn lines_read_like_the_kernels() {
    let (level, lo, hi) = (1, 16, 31);
    let table = [
        (
            Event::NocbWake {
                cpu: 5,
                event: NocbEvent::FirstBqNoWake,
            },
            "rcu_nocb_wake: rcu_preempt 5 FirstBQnoWake",
        ),
        (
            Event::GracePeriod {
                gp_seq: seq(1234),
                event: GpEvent::Start,
            },
            "rcu_grace_period: rcu_preempt 1234 start",
        ),
        (
            Event::StallWarning {
                event: StallEvent::SelfDetected,
            },
            "rcu_stall_warning: rcu_preempt SelfDetected",
        ),
        (
            Event::GracePeriod {
                gp_seq: seq(1237),
                event: GpEvent::CpuoflBgp,
            },
            "rcu_grace_period: rcu_preempt 1237 cpuofl-bgp",
        ),
        (
            Event::FutureGracePeriod {
                gp_seq: seq(1236),
                wanted: seq(1240),
                level,
                lo,
                hi,
                event: FutureEvent::Startleaf,
            },
            "rcu_future_grace_period: rcu_preempt 1236 1240 1 16 31 Startleaf",
        ),
        (
            Event::GracePeriodInit {
                gp_seq: seq(1237),
                level: 0,
                lo: 0,
                hi: 15,
                qsmask: 0xffff,
            },
            "rcu_grace_period_init: rcu_preempt 1237 0 0 15 ffff",
        ),
        (
            Event::QuiescentStateReport {
                gp_seq: seq(1237),
                mask: 0x10,
                qsmask: 0xffef,
                level,
                lo,
                hi,
                gp_tasks: false,
            },
            "rcu_quiescent_state_report: rcu_preempt 1237 10>ffef 1 16 31 0",
        ),
        (
            Event::QuiescentStateReport {
                gp_seq: seq(1237),
                mask: 1,
                qsmask: 0,
                level,
                lo,
                hi,
                gp_tasks: true,
            },
            "rcu_quiescent_state_report: rcu_preempt 1237 1>0 1 16 31 1",
        ),
        (
            Event::Fqs {
                gp_seq: seq(1237),
                cpu: 7,
                event: FqsEvent::Dti,
            },
            "rcu_fqs: rcu_preempt 1237 7 dti",
        ),
        (
            Event::ExpGracePeriod {
                gp_seq: seq(4),
                event: ExpEvent::Endwake,
            },
            "rcu_exp_grace_period: rcu_preempt 4 endwake",
        ),
        (
            Event::ExpFunnelLock {
                level,
                lo,
                hi,
                event: ExpFunnelEvent::Nxtlvl,
            },
            "rcu_exp_funnel_lock: rcu_preempt 1 16 31 nxtlvl",
        ),
        (
            Event::PreemptTask {
                gp_seq: seq(1237),
                pid: 12,
            },
            "rcu_preempt_task: rcu_preempt 1237 12",
        ),
        (
            Event::UnlockPreemptedTask {
                gp_seq: seq(1237),
                pid: 12,
            },
            "rcu_unlock_preempted_task: rcu_preempt 1237 12",
        ),
        (
            Event::SrNormal {
                waiter: 0xbeef,
                event: SrEvent::Request,
            },
            "rcu_sr_normal: rcu_preempt rhp=0x000000000000beef event=request",
        ),
        (
            Event::Utilization {
                event: UtilizationEvent::EndCore,
            },
            "rcu_utilization: End RCU core",
        ),
    ];
    for (event, want) in table {
        assert_eq!(line(event), want);
    }
}

#[test]
fn sequence_numbers_are_signed() {
    let event = Event::FutureGracePeriod {
        gp_seq: Seq::INITIAL,
        wanted: Seq::INITIAL.snap(),
        level: 0,
        lo: 0,
        hi: 3,
        event: FutureEvent::Startedroot,
    };
    let text = event.text("rcu_sched").to_string();
    assert_eq!(text, "rcu_sched -1200 -1196 0 0 3 Startedroot");
}

#[test]
fn names_are_the_documented_ones() {
    fn all<T: fmt::Display>(members: &[T]) -> String {
        let names: Vec<String> = members.iter().map(|m| m.to_string()).collect();
        names.join(" ")
    }
    assert_eq!(
        all(GpEvent::ALL),
        "newreq start end reqwait reqwaitsig fqswait fqswaitsig fqsstart fqsend cpustart cpuend \
         cpuqs cpuonl cpuofl cpuofl-bgp AccWaitCB AccReadyCB"
    );
    assert_eq!(
        all(FutureEvent::ALL),
        "Startleaf Prestarted Startedleaf Startedleafroot Startedroot NoGPkthread Cleanup \
         CleanupMore StartWait EndWait"
    );
    assert_eq!(
        all(ExpEvent::ALL),
        "snap start reset select selectofl startwait end endwake done"
    );
    assert_eq!(all(SrEvent::ALL), "request complete");
    assert_eq!(all(FqsEvent::ALL), "dti");
    assert_eq!(
        all(StallEvent::ALL),
        "StallDetected SelfDetected ExpeditedStall"
    );
}

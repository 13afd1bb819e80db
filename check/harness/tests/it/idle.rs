//! An idle CPU that has callbacks, in the test host: the tick that stays on, and both dated forms of
//! `FAST_NO_HZ`.

use quiescent_harness::host::TestHost;
use quiescent_kernel::fast_no_hz::{FastNoHz, IdleNeeds, IdleRule};
use quiescent_kernel::tick::Settings;
use quiescent_kernel::{Config, CpuId, EarlyQs};

const HZ: u32 = 1000;

fn machine(idle: IdleRule) -> TestHost {
    let config = Config {
        early_qs: EarlyQs::Init,
        idle,
        tick: Settings {
            preemptible: false, // a tick in the idle loop is a quiescent state
            ..Settings::kernel_6_12()
        },
        ..Config::kernel_6_12(4, HZ)
    };
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    let _ = host.step();
    host.run_thread();
    for cpu in 0..4 {
        let _ = host.core(cpu);
    }
    host
}

fn older() -> TestHost {
    machine(IdleRule::FastNoHz(FastNoHz::v5_6(HZ)))
}

fn newer() -> TestHost {
    machine(IdleRule::FastNoHz(FastNoHz::v5_10(HZ)))
}

fn needs(host: &mut TestHost, cpu: CpuId) -> IdleNeeds {
    host.idle_needs(cpu).needs
}

fn wakes_up(host: &mut TestHost, cpu: CpuId) -> IdleNeeds {
    host.cleanup_after_idle(cpu).needs
}

fn call_lazy(host: &mut TestHost, cpu: CpuId) {
    let _ = host.call(cpu);
    host.queued_lazy(cpu);
}

/// Until the callback of a CPU that queues it and idles was invoked: ticks that passed, and wake-ups.
fn sleep_it_off(host: &mut TestHost, cpu: CpuId) -> (u64, u32) {
    let (start, mut wakes) = (host.now().jiffies, 0);
    loop {
        let wake_at = match needs(host, cpu) {
            IdleNeeds::Nothing => return (host.now().jiffies - start, wakes),
            IdleNeeds::Tick => host.now().jiffies + 1,
            IdleNeeds::WakeIn(ticks) => {
                host.prepare_for_idle(cpu);
                host.now().jiffies + ticks
            }
            IdleNeeds::Core => {
                let _ = host.core(cpu);
                host.batch(cpu, Default::default(), 0);
                continue;
            }
        };
        while host.now().jiffies < wake_at {
            host.run_thread();
            host.pass_jiffies(1);
            host.run_thread();
        }
        wakes += 1;
        let raised = wakes_up(host, cpu) == IdleNeeds::Core;
        // The tick comes as the CPU wakes up for it.
        if host.tick(cpu).core.is_some() || raised {
            let _ = host.core(cpu);
            host.batch(cpu, Default::default(), 0);
        }
        assert!(wakes < 100, "the callback is never invoked");
    }
}

#[test]
fn today_any_callback_keeps_the_tick_on_until_the_list_is_empty() {
    let mut host = machine(IdleRule::Tick);
    assert_eq!(needs(&mut host, 1), IdleNeeds::Nothing);
    let _ = host.call(1);
    assert_eq!(needs(&mut host, 1), IdleNeeds::Tick, "not stamped");
    assert!(!host.prepare_for_idle(1), "the tick will raise it");
    let (ticks, wakes) = sleep_it_off(&mut host, 1);
    assert_eq!(u64::from(wakes), ticks, "one wake-up a tick");
    assert!((4..=10).contains(&wakes), "{wakes}");
    // Extracted callbacks do not keep the tick on.
    let _ = host.call(1);
    let _ = host.core(1);
    while host.cpu(1).is_some_and(|cpu| cpu.list().ready() == 0) {
        host.pass_jiffies(1);
        host.run_thread();
        let _ = host.core(1);
    }
    let context = quiescent_kernel::limits::Context::Softirq;
    host.begin_batch(1, context);
    assert_eq!(needs(&mut host, 1), IdleNeeds::Nothing);
}

#[test]
fn fast_no_hz_sleeps_through_the_grace_period_and_wakes_up_once() {
    for mut host in [older(), newer()] {
        host.pass_jiffies(4 - host.now().jiffies % 4 + 1); // one more than a multiple of 4
        let _ = host.call(1);
        assert_eq!(needs(&mut host, 1), IdleNeeds::WakeIn(7));
        let (ticks, wakes) = sleep_it_off(&mut host, 1);
        assert_eq!((ticks, wakes), (7, 1));
        assert!(host.cpu(1).is_some_and(|cpu| cpu.is_empty()));
    }
}

#[test]
fn before_it_sleeps_everything_is_stamped_and_asked_for_once_a_tick() {
    let mut host = newer();
    assert!(!host.prepare_for_idle(1), "nothing queued");
    let _ = host.call(1);
    assert!(
        host.prepare_for_idle(1),
        "the grace-period thread is to be woken"
    );
    let unstamped = |host: &TestHost| host.cpu(1).map(|cpu| cpu.list().unstamped());
    assert_eq!(unstamped(&host), Some(0));
    assert!(host.engine().busy());
    // Woken for an instant, the CPU queues another callback: it makes no second check in this tick.
    host.run_thread();
    let _ = host.call(1);
    let _ = host.prepare_for_idle(1);
    assert_eq!(unstamped(&host), Some(1));
    host.pass_jiffies(1);
    let _ = host.prepare_for_idle(1);
    assert_eq!(unstamped(&host), Some(0));
}

#[test]
fn what_became_ready_raises_the_soft_interrupt_before_and_after_a_sleep() {
    for before in [true, false] {
        let mut host = newer();
        let _ = host.call(1);
        let _ = host.prepare_for_idle(1);
        for _ in 0..8 {
            host.run_thread();
            host.pass_jiffies(1);
        }
        assert!(!host.engine().busy(), "a scan saw it idle");
        let look = |host: &mut TestHost| match before {
            true => needs(host, 1),
            false => wakes_up(host, 1),
        };
        assert_eq!(look(&mut host), IdleNeeds::Core);
        // Once a tick: the soft interrupt is already raised.
        assert_ne!(look(&mut host), IdleNeeds::Core);
        host.pass_jiffies(1);
        assert_eq!(look(&mut host), IdleNeeds::Core);
    }
}

#[test]
fn a_look_that_stamps_what_came_late_wakes_the_thread() {
    let mut host = newer();
    let _ = host.call(1);
    let _ = host.prepare_for_idle(1);
    for _ in 0..8 {
        host.run_thread();
        host.pass_jiffies(1);
    }
    let _ = host.call(1); // by an interrupt
    let look = host.idle_needs(1);
    assert_eq!((look.needs, look.wake_gp), (IdleNeeds::Core, true));
}

#[test]
fn only_lazy_ones_may_wait_for_seconds_and_only_until_5_6() {
    let mut host = older();
    host.pass_jiffies(1000 - host.now().jiffies);
    call_lazy(&mut host, 1);
    call_lazy(&mut host, 1);
    assert_eq!(needs(&mut host, 1), IdleNeeds::WakeIn(6000));
    host.pass_jiffies(300);
    assert_eq!(
        needs(&mut host, 1),
        IdleNeeds::WakeIn(6700),
        "a whole second"
    );
    let _ = host.call(1);
    assert_eq!(
        needs(&mut host, 1),
        IdleNeeds::WakeIn(4),
        "one callback that is not lazy is enough"
    );

    let mut host = newer();
    host.pass_jiffies(1000 - host.now().jiffies);
    call_lazy(&mut host, 1);
    assert_eq!(needs(&mut host, 1), IdleNeeds::WakeIn(4));
}

#[test]
fn lazy_ones_are_counted_until_they_have_run_and_move_with_their_list() {
    let mut host = older();
    host.pass_jiffies(1000 - host.now().jiffies);
    for _ in 0..3 {
        call_lazy(&mut host, 1);
    }
    // Three run, and a new callback is not lazy: it is the only one.
    let _ = host.prepare_for_idle(1);
    for _ in 0..8 {
        host.run_thread();
        host.pass_jiffies(1);
    }
    let _ = host.core(1);
    assert_eq!(host.batch(1, Default::default(), 0), 3);
    host.on(1, |cpu, _, _| cpu.ran_lazy(3));
    let _ = host.call(1);
    assert!(matches!(needs(&mut host, 1), IdleNeeds::WakeIn(4..=7)));
    // CPU 2 has lazy callbacks; CPU 3 takes them over, and those of CPU 1, which are not lazy.
    call_lazy(&mut host, 2);
    host.unregister(2);
    let _ = host.adopt(3, 2);
    assert!(matches!(needs(&mut host, 3), IdleNeeds::WakeIn(5000..)));
    assert_eq!(needs(&mut host, 2), IdleNeeds::Nothing);
    host.unregister(1);
    let _ = host.adopt(3, 1);
    assert!(matches!(needs(&mut host, 3), IdleNeeds::WakeIn(4..=7)));
}

#[test]
fn an_offloaded_cpu_never_needs_its_tick() {
    for idle in [
        IdleRule::Tick,
        IdleRule::FastNoHz(FastNoHz::v5_6(HZ)),
        IdleRule::FastNoHz(FastNoHz::v5_10(HZ)),
    ] {
        let mut host = machine(idle);
        host.set_offloaded(1, true);
        let _ = host.call(1);
        assert_eq!(needs(&mut host, 1), IdleNeeds::Nothing, "{idle:?}");
        assert!(!host.prepare_for_idle(1));
        assert_eq!(wakes_up(&mut host, 1), IdleNeeds::Nothing);
    }
}

//! Trace points of the engine: the point of an event, and the list of all.

use std::collections::BTreeSet;

use quiescent_kernel::event::{
    CallbackEvent, Event, ExpEvent, ExpFunnelEvent, FqsEvent, FutureEvent, GpEvent, NocbEvent,
    SegcbEvent, SrEvent, StallEvent, UtilizationEvent,
};

/// A trace point: an event's name and its first word.
pub type Point = (&'static str, &'static str);

/// Which trace point this event is.
pub(crate) fn point(event: &Event) -> Point {
    let what = match event {
        Event::GracePeriod { event, .. } => event.name(),
        Event::FutureGracePeriod { event, .. } => event.name(),
        Event::Fqs { event, .. } => event.name(),
        Event::ExpGracePeriod { event, .. } => event.name(),
        Event::ExpFunnelLock { event, .. } => event.name(),
        Event::SrNormal { event, .. } => event.name(),
        Event::Utilization { event } => event.name(),
        Event::StallWarning { event } => event.name(),
        Event::NocbWake { event, .. } => event.name(),
        Event::Callbacks(CallbackEvent::Segments { when, .. }) => when.name(),
        _ => "",
    };
    (event.name(), what)
}

/// All trace points that the engine has.
pub fn points() -> BTreeSet<Point> {
    let mut all = BTreeSet::new();
    let mut add = |event, whats: Vec<&'static str>| {
        all.extend(whats.into_iter().map(|what| (event, what)));
    };
    macro_rules! each {
        ($event:literal, $kind:ty) => {
            add($event, <$kind>::ALL.iter().map(|it| it.name()).collect())
        };
    }
    each!("rcu_grace_period", GpEvent);
    each!("rcu_future_grace_period", FutureEvent);
    each!("rcu_fqs", FqsEvent);
    each!("rcu_exp_grace_period", ExpEvent);
    each!("rcu_exp_funnel_lock", ExpFunnelEvent);
    each!("rcu_sr_normal", SrEvent);
    each!("rcu_utilization", UtilizationEvent);
    each!("rcu_stall_warning", StallEvent);
    each!("rcu_nocb_wake", NocbEvent);
    each!("rcu_segcb_stats", SegcbEvent);
    for event in [
        "rcu_grace_period_init",
        "rcu_quiescent_state_report",
        "rcu_preempt_task",
        "rcu_unlock_preempted_task",
        "rcu_batch_start",
        "rcu_batch_end",
    ] {
        add(event, vec![""]);
    }
    all
}

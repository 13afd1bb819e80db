//! Trace events about offloaded callbacks: wake-ups of their threads, and the reasons for none.

use core::fmt;

names! {
    /// Events of an offloaded CPU's callbacks, or of its group's thread.
    NocbEvent {
        /// The first callback on an empty list.
        FirstQ = "FirstQ",
        /// The first callback in an empty bypass.
        FirstBq = "FirstBQ",
        /// The callback has rcuog woken, now or later.
        FirstBqWake = "FirstBQwake",
        /// It does not: rcuog waits for a grace period already.
        FirstBqNoWake = "FirstBQnoWake",
        /// rcuog was woken because nothing was pending.
        WakeEmpty = "WakeEmpty",
        /// That wake-up is deferred, because interrupts are disabled.
        WakeEmptyIsDeferred = "WakeEmptyIsDeferred",
        /// The wake-up for a flood is deferred.
        WakeOvfIsDeferred = "WakeOvfIsDeferred",
        /// No wake-up is needed.
        WakeNot = "WakeNot",
        /// No wake-up, because rcuog polls.
        WakeNotPoll = "WakeNotPoll",
        /// A lazy list has begun: the wake-up is deferred for the flush time.
        WakeLazy = "WakeLazy",
        /// rcuog leaves a lazy list, and will visit it again.
        WakeLazyIsDeferred = "WakeLazyIsDeferred",
        /// rcuog leaves a bypass, and will visit it again.
        WakeBypassIsDeferred = "WakeBypassIsDeferred",
        /// rcuog is being woken.
        DoWake = "DoWake",
        /// A deferred wake-up has been made.
        DeferredWake = "DeferredWake",
        /// rcuog is awake, or was woken by another thread.
        AlreadyAwake = "AlreadyAwake",
        /// The group's timer has fired.
        Timer = "Timer",
        /// rcuog visits this CPU.
        Check = "Check",
        /// The CPU's bypass is all lazy.
        Lazy = "Lazy",
        /// The CPU's bypass has other callbacks, too.
        Bypass = "Bypass",
        /// The CPU's callbacks wait for a grace period.
        NeedWaitGp = "NeedWaitGP",
        /// rcuog goes to sleep until it is woken.
        Sleep = "Sleep",
        /// rcuog was woken from that sleep.
        EndSleep = "EndSleep",
        /// rcuog polls.
        Poll = "Poll",
        /// rcuop goes to sleep.
        CbSleep = "CBSleep",
        /// rcuop was woken, and no callback is ready.
        WokeEmpty = "WokeEmpty",
    }
}

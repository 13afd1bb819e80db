//! Trace events about offloaded callbacks: wake-ups of their threads, and the reasons for none.

use core::fmt;

names! {
    /// Events of an offloaded CPU's callbacks, or of its group's thread.
    NocbEvent {
        /// The first one on an empty list.
        FirstQ = "FirstQ",
        /// The first one in an empty bypass.
        FirstBq = "FirstBQ",
        /// It has rcuog woken, now or later.
        FirstBqWake = "FirstBQwake",
        /// It does not: rcuog waits for a grace period already.
        FirstBqNoWake = "FirstBQnoWake",
        /// rcuog was woken since nothing was pending.
        WakeEmpty = "WakeEmpty",
        /// The same is put off, since interrupts are disabled.
        WakeEmptyIsDeferred = "WakeEmptyIsDeferred",
        /// The wake-up for a flood is put off.
        WakeOvfIsDeferred = "WakeOvfIsDeferred",
        /// No wake-up is needed.
        WakeNot = "WakeNot",
        /// No wake-up, because rcuog polls.
        WakeNotPoll = "WakeNotPoll",
        /// A lazy list has begun: the wake-up is put off for long.
        WakeLazy = "WakeLazy",
        /// rcuog leaves a lazy list behind, and will visit it again.
        WakeLazyIsDeferred = "WakeLazyIsDeferred",
        /// rcuog leaves a bypass behind, and will visit it again.
        WakeBypassIsDeferred = "WakeBypassIsDeferred",
        /// rcuog is being woken.
        DoWake = "DoWake",
        /// A wake-up that was put off has been made.
        DeferredWake = "DeferredWake",
        /// rcuog is awake, or was woken by another thread.
        AlreadyAwake = "AlreadyAwake",
        /// The group's timer has fired.
        Timer = "Timer",
        /// rcuog visits this CPU.
        Check = "Check",
        /// Its bypass is all lazy.
        Lazy = "Lazy",
        /// Its bypass holds others.
        Bypass = "Bypass",
        /// Its callbacks wait for a grace period.
        NeedWaitGp = "NeedWaitGP",
        /// rcuog goes to sleep until it is woken.
        Sleep = "Sleep",
        /// It was woken from that.
        EndSleep = "EndSleep",
        /// rcuog polls.
        Poll = "Poll",
        /// rcuop goes to sleep.
        CbSleep = "CBSleep",
        /// rcuop was woken, and nothing is ready.
        WokeEmpty = "WokeEmpty",
    }
}

----------------------------- MODULE GracePeriod -----------------------------
(* The grace period of the thread host, as a protocol: readers that store without a fence, one driver with process-wide     *)
(* fences, waiters that share grace periods. The model is small on purpose; the explorer and the loom models check that    *)
(* the source does the same (docs/verification.md).                                                                          *)
(*                                                                                                                           *)
(* A reader's stores wait in a buffer, in their order, until the processor writes them (Flush) or a fence reaches it. A      *)
(* process-wide fence empties each buffer at some moment between its beginning and its end, and not all of them at once.      *)
(* The driver's own stores (flags) wait in a buffer too, until its next fence.                                               *)
(*                                                                                                                           *)
(* Safe: no waiter returns while a section is open that was open when it began to wait. Live: every waiter returns. Each     *)
(* value of Bug but "none" takes one edge away and has to break one of the two: `ci/models` runs them all.                   *)
(* Ids in brackets are those of docs/ordering.md.                                                                            *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Readers, Waiters, Sections, Bug

VARIABLES
    rpc,        \* reader: "new", "out", "in", "left" (it has stored that it is outside, and checks its flag next)
    section,    \* its section's number, from 1; at rest that of the last one
    word,       \* its word in memory: 0 outside, else the section's number
    buffer,     \* stores of it that are still to be made
    flag,       \* its flag in memory: the driver wants to be woken
    registered, \* threads in the bitmap
    dpc,        \* the driver's phase
    started,    \* grace periods that have begun,
    done,       \* and that have ended
    known,      \* threads that this grace period includes
    holdouts,   \* of which these are holdouts,
    seen,       \* with this word at the first scan
    unfenced,   \* threads that the fence has still to reach
    flagging,   \* flags that the driver has stored, in its buffer
    asleep,     \* the driver has declared itself asleep
    wpc,        \* waiter: "idle", "waits", "back"
    snap,       \* the grace period that it waits for
    old         \* sections that were open when it began

vars == <<rpc, section, word, buffer, flag, registered, dpc, started, done, known, holdouts, seen, unfenced, flagging,
          asleep, wpc, snap, old>>
reader == <<rpc, section, word, buffer, registered>>
driver == <<dpc, started, done, known, holdouts, seen, unfenced, flagging>>
waiter == <<wpc, snap, old>>

Init ==
    /\ rpc = [r \in Readers |-> "new"]
    /\ section = [r \in Readers |-> 0]
    /\ word = [r \in Readers |-> 0]
    /\ buffer = [r \in Readers |-> <<>>]
    /\ flag = [r \in Readers |-> FALSE]
    /\ registered = {}
    /\ dpc = "idle" /\ started = 0 /\ done = 0
    /\ known = {} /\ holdouts = {} /\ seen = [r \in Readers |-> 0]
    /\ unfenced = {} /\ flagging = {} /\ asleep = FALSE
    /\ wpc = [w \in Waiters |-> "idle"]
    /\ snap = [w \in Waiters |-> 0]
    /\ old = [w \in Waiters |-> {}]

-----------------------------------------------------------------------------
(* Readers *)

Store(r, value) == buffer' = [buffer EXCEPT ![r] = Append(@, value)]

Register(r) == \* claims its bit with a locked instruction [REG-1]
    /\ rpc[r] = "new"
    /\ registered' = registered \cup {r}
    /\ rpc' = [rpc EXCEPT ![r] = "out"]
    /\ UNCHANGED <<section, word, buffer, flag, driver, asleep, waiter>>

Lock(r) == \* a store, and a light fence [RD-1]
    /\ rpc[r] = "out" /\ section[r] < Sections
    /\ section' = [section EXCEPT ![r] = @ + 1]
    /\ Store(r, section[r] + 1)
    /\ rpc' = [rpc EXCEPT ![r] = "in"]
    /\ UNCHANGED <<word, registered, flag, driver, asleep, waiter>>

Unlock(r) == \* a store, released [RD-2]
    /\ rpc[r] = "in"
    /\ Store(r, 0)
    /\ rpc' = [rpc EXCEPT ![r] = "left"]
    /\ UNCHANGED <<section, word, registered, flag, driver, asleep, waiter>>

LookAtFlag(r) == \* a load, which may come before the store above it in memory [RD-3]
    /\ rpc[r] = "left"
    /\ rpc' = [rpc EXCEPT ![r] = "out"]
    /\ IF flag[r]
       THEN flag' = [flag EXCEPT ![r] = FALSE] /\ asleep' = FALSE \* locked: it clears the flag, then wakes [FS-1]
       ELSE UNCHANGED <<flag, asleep>>
    /\ UNCHANGED <<section, word, buffer, registered, driver, waiter>>

Flush(r) == \* the processor writes the oldest store
    /\ buffer[r] # <<>>
    /\ word' = [word EXCEPT ![r] = Head(buffer[r])]
    /\ buffer' = [buffer EXCEPT ![r] = Tail(@)]
    /\ UNCHANGED <<rpc, section, registered, flag, driver, asleep, waiter>>

-----------------------------------------------------------------------------
(* The driver *)

Wanted == \E w \in Waiters : wpc[w] = "waits" /\ snap[w] > done

Start ==
    /\ dpc = "idle" /\ Wanted
    /\ started' = started + 1
    /\ unfenced' = IF Bug = "no-first-fence" THEN {} ELSE Readers \* [GP-1]
    /\ UNCHANGED known
    /\ dpc' = "fence"
    /\ UNCHANGED <<done, holdouts, seen, flagging, reader, flag, asleep, waiter>>

Reach(r) == \* a fence reaches a reader's processor: all its stores are made, in their order; the driver's own come first
    /\ r \in unfenced /\ flagging = {}
    /\ unfenced' = unfenced \ {r}
    /\ IF buffer[r] = <<>>
       THEN UNCHANGED <<word, buffer>>
       ELSE /\ word' = [word EXCEPT ![r] = buffer[r][Len(buffer[r])]]
            /\ buffer' = [buffer EXCEPT ![r] = <<>>]
    /\ UNCHANGED <<rpc, section, registered, flag, dpc, started, done, known, holdouts, seen, flagging, asleep, waiter>>

Fenced == \* the bitmap is read after the fence [REG-1]; the bug is to keep that of an earlier grace period
    /\ dpc = "fence" /\ unfenced = {}
    /\ known' = IF Bug = "new-thread-skipped" /\ done > 0 THEN known ELSE registered
    /\ holdouts' = known'
    /\ seen' = [r \in Readers |-> 0]
    /\ dpc' = "look"
    /\ UNCHANGED <<started, done, unfenced, flagging, reader, flag, asleep, waiter>>

First(r) == \* the first scan of a reader: outside, or inside with this word
    /\ dpc = "look" /\ r \in holdouts /\ seen[r] = 0
    /\ IF word[r] = 0
       THEN holdouts' = holdouts \ {r} /\ UNCHANGED seen
       ELSE seen' = [seen EXCEPT ![r] = word[r]] /\ UNCHANGED holdouts
    /\ UNCHANGED <<dpc, started, done, known, unfenced, flagging, reader, flag, asleep, waiter>>

AllLookedAt == dpc = "look" /\ \A r \in holdouts : seen[r] # 0

End ==
    /\ AllLookedAt /\ holdouts = {}
    /\ done' = started
    /\ dpc' = "idle"
    /\ flagging' = {}
    /\ UNCHANGED <<started, known, holdouts, seen, unfenced, reader, flag, asleep, waiter>>

Flag == \* stores that wait in the driver's buffer until its fence has ended [GP-2]
    /\ AllLookedAt /\ holdouts # {}
    /\ flagging' = holdouts
    /\ unfenced' = IF Bug = "no-second-fence" THEN {} ELSE Readers
    /\ dpc' = "flags"
    /\ UNCHANGED <<started, done, known, holdouts, seen, reader, flag, asleep, waiter>>

MakeFlags == \* the driver's processor writes them: at its own fence, or at any time if there is none
    /\ flagging # {}
    /\ flag' = [r \in Readers |-> flag[r] \/ r \in flagging]
    /\ flagging' = {}
    /\ UNCHANGED <<dpc, started, done, known, holdouts, seen, unfenced, reader, asleep, waiter>>

FlagsFenced ==
    /\ dpc = "flags" /\ unfenced = {}
    /\ Bug = "no-second-fence" \/ flagging = {}
    /\ dpc' = "again"
    /\ UNCHANGED <<started, done, known, holdouts, seen, unfenced, flagging, reader, flag, asleep, waiter>>

Gone(r) == word[r] # seen[r] \* outside by now, or in a later section

Again == \* the last scan; each reader that is left will wake the driver
    /\ dpc = "again"
    /\ LET left == {r \in holdouts : ~Gone(r)} IN
        /\ holdouts' = left
        /\ IF left = {}
           THEN dpc' = "look" /\ UNCHANGED asleep
           ELSE dpc' = "declared" /\ asleep' = TRUE
    /\ UNCHANGED <<started, done, known, seen, unfenced, flagging, reader, flag, waiter>>

Declared == \* declared asleep, it checks the flags once more [FS-1]: a cleared one shows that a reader has left
    /\ dpc = "declared"
    /\ LET cleared == \E r \in holdouts : ~flag[r] /\ r \notin flagging IN
        IF cleared /\ Bug # "no-last-look"
        THEN dpc' = "rescan" /\ asleep' = FALSE
        ELSE dpc' = "asleep" /\ UNCHANGED asleep
    /\ UNCHANGED <<started, done, known, holdouts, seen, unfenced, flagging, reader, flag, waiter>>

Woken ==
    /\ dpc = "asleep" /\ ~asleep
    /\ dpc' = "rescan"
    /\ UNCHANGED <<started, done, known, holdouts, seen, unfenced, flagging, reader, flag, asleep, waiter>>

Rescan == \* readers that have left are credited; flags again for the rest, with a fence
    /\ dpc = "rescan"
    /\ holdouts' = {r \in holdouts : ~Gone(r)}
    /\ dpc' = "look"
    /\ UNCHANGED <<started, done, known, seen, unfenced, flagging, reader, flag, asleep, waiter>>

Drive == Start \/ Fenced \/ End \/ Flag \/ MakeFlags \/ FlagsFenced \/ Again \/ Declared \/ Woken \/ Rescan

-----------------------------------------------------------------------------
(* Waiters *)

Wait(w) == \* a full fence, then the request [SNAP-1]: a grace period that has begun may have missed earlier changes
    /\ wpc[w] = "idle"
    /\ wpc' = [wpc EXCEPT ![w] = "waits"]
    /\ snap' = [snap EXCEPT ![w] = IF started > done /\ Bug # "snap-too-early" THEN done + 2 ELSE done + 1]
    /\ old' = [old EXCEPT ![w] = {<<r, section[r]>> : r \in {r \in Readers : rpc[r] = "in"}}]
    /\ UNCHANGED <<reader, flag, driver, asleep>>

Return(w) ==
    /\ wpc[w] = "waits" /\ done >= snap[w]
    /\ wpc' = [wpc EXCEPT ![w] = "back"]
    /\ UNCHANGED <<snap, old, reader, flag, driver, asleep>>

-----------------------------------------------------------------------------

Next ==
    \/ \E r \in Readers : Register(r) \/ Lock(r) \/ Unlock(r) \/ LookAtFlag(r) \/ Flush(r) \/ Reach(r) \/ First(r)
    \/ \E w \in Waiters : Wait(w) \/ Return(w)
    \/ Drive

(* Sections end, processors write, fences arrive, and the driver runs, each at last. Registering, reading and waiting are optional. *)
Fair ==
    /\ \A r \in Readers :
        WF_vars(Unlock(r)) /\ WF_vars(LookAtFlag(r)) /\ WF_vars(Flush(r)) /\ WF_vars(Reach(r)) /\ WF_vars(First(r))
    /\ \A w \in Waiters : WF_vars(Return(w))
    /\ WF_vars(Start) /\ WF_vars(Fenced) /\ WF_vars(End) /\ WF_vars(Flag) /\ WF_vars(MakeFlags)
    /\ WF_vars(FlagsFenced) /\ WF_vars(Again) /\ WF_vars(Declared) /\ WF_vars(Woken) /\ WF_vars(Rescan)

Spec == Init /\ [][Next]_vars /\ Fair

Open(r, n) == rpc[r] = "in" /\ section[r] = n

Safe == \A w \in Waiters : wpc[w] = "back" => \A s \in old[w] : ~Open(s[1], s[2])

Live == \A w \in Waiters : (wpc[w] = "waits") ~> (wpc[w] = "back")
=============================================================================

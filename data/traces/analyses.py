#!/usr/bin/env python3
"""The tables of `quiescent trace`, computed a second time and in another way than tools/trace does: the whole trace in memory, looking back
in lists where the program keeps states.

  analyses.py TRACE.txt.xz...    one JSON object: trace, analysis, case, metric

`analyses.json` is what it prints for the traces that tools/trace/tests/it/analyses.rs names; the definitions are in the module texts of
tools/trace/src/analysis/.
"""
import bisect, collections, json, lzma, os, re, sys
from collections import Counter, defaultdict, namedtuple

LINE = re.compile(r"^\s*(.*)-(\d+)\s+\[(\d+)\] (\S+)\s+(\d+)\.(\d{6}): (\w+): ?(.*)$")
Row = namedtuple("Row", "i task pid cpu flags t event text words")


def rows(path):
    out = []
    with lzma.open(path, "rt") as lines:
        for line in lines:
            m = LINE.match(line)
            if m:
                task, pid, cpu, flags, s, us, event, text = m.groups()
                out.append(Row(len(out), task, int(pid), int(cpu), flags, int(s) * 1000000 + int(us), event, text, text.split()))
    return out


def window(all_rows):
    at = lambda mark: [r.t for r in all_rows if r.event == "tracing_mark_write" and r.text.startswith(mark)]
    return (at("WORKLOAD_START") or [all_rows[0].t])[0], (at("WORKLOAD_END") or [all_rows[-1].t])[0]


def field(text, name):
    return re.search(r"(?:^|\s)%s=(\S+)" % name, text).group(1)


def percentile(v, p):
    return v[len(v) * p // 100]


def context(r):
    return {"h": "interrupt", "H": "interrupt", "z": "interrupt", "Z": "interrupt", "s": "softirq"}.get(r.flags[2], r.task)


def kind(task):
    return re.sub(r"/\d.*", "/N", task)


class Trace:
    def __init__(self, path):
        self.all = rows(path)
        self.t0, self.t1 = window(self.all)
        self.seconds = (self.t1 - self.t0) / 1e6
        # By index and not by time: several events have the time of a mark.
        marks = [r.i for r in self.all if r.event == "tracing_mark_write" and r.text.startswith("WORKLOAD_START")]
        ends = [r.i for r in self.all if r.event == "tracing_mark_write" and r.text.startswith("WORKLOAD_END")]
        self.first = marks[0] if marks else 0
        self.last = ends[0] if ends else len(self.all)
        self.by = defaultdict(list)
        for r in self.all:
            self.by[r.event].append(r)
        self.cpus = max(r.cpu for r in self.all) + 1

    def inside(self, r):
        return self.first <= r.i < self.last

    def gp(self, *what):
        return [r for r in self.by["rcu_grace_period"] if r.words[2] in what]

    def rate(self, n):
        return n / self.seconds


def before(lists, i):
    """Of named lists of indexes, the name whose latest index before i is the latest of all."""
    found = {}
    for name, indexes in lists.items():
        place = bisect.bisect_left(indexes, i)
        if place:
            found[name] = indexes[place - 1]
    return max(found, key=found.get) if found else None


def latest(indexes, i):
    place = bisect.bisect_left(indexes, i)
    return indexes[place - 1] if place else -1


# Who asked for a grace period.

def origins(t):
    """For each start of a grace period: (function, task, requester); and what was known at each request, by index."""
    oldest = defaultdict(lambda: {"main": None, "hidden": None, "open": False, "last": None})
    checked, wanted, started, known, last_on = {}, {}, {}, {}, {}
    main = {"DoWake", "WakeNot", "WakeNotPoll", "WakeEmpty", "WakeEmptyIsDeferred", "WakeOvfIsDeferred"}
    for r in t.all:
        group = r.task.startswith("rcuog/")
        if r.event in ("rcu_callback", "rcu_kvfree_callback"):
            name = field(r.text, "func") if r.event == "rcu_callback" else "kvfree"
            o = oldest[r.cpu]
            o["last"] = (name, context(r))
            if not o["open"] and not o["main"]:
                o["main"] = o["last"]
            last_on.setdefault(r.cpu, []).append((r.i, o["last"]))
        elif r.event == "rcu_nocb_wake":
            cpu, what = int(r.words[1]), r.words[2]
            if what == "Check":
                checked[r.pid] = cpu
            elif cpu == r.cpu and not group:
                o = oldest[cpu]
                if what == "FirstBQ":
                    if o["main"] == o["last"]:
                        o["main"] = None
                    o["hidden"], o["open"] = o["last"], True
                elif what in main and not o["main"]:
                    o["main"] = o["last"]
        at = checked.get(r.pid, r.cpu) if group else r.cpu
        target = None
        if r.event == "rcu_future_grace_period" and r.words[6] == "Startleaf":
            target = int(r.words[2])
        elif r.event == "rcu_grace_period" and r.words[2] == "newreq":
            target = int(r.words[1]) // 4 * 4 + 4
        if target is not None and target not in wanted:
            o = oldest[at]
            wanted[target] = (o["main"] or o["hidden"] or ("-", "-")) + (context(r),)
        if r.event == "rcu_grace_period":
            seq, what = int(r.words[1]), r.words[2]
            if what == "newreq":
                known[r.i] = wanted.get(seq // 4 * 4 + 4)
            elif what == "start":
                started[r.i] = wanted.get(seq // 4 * 4 + 4)
            elif what in ("AccWaitCB", "AccReadyCB"):
                o = oldest[at]
                if o["main"]:
                    o["main"] = None
                else:
                    o["hidden"], o["open"] = None, False
    return started, known, last_on


# wakeups

def wakeups(t):
    out = {}
    threads = defaultdict(list)
    for r in t.by["sched_wakeup"]:
        if t.inside(r):
            m = re.match(r"comm=(.*) pid=(\d+) prio=", r.text)
            threads[(m.group(1), int(m.group(2)))].append(r.t)
    names = Counter(name for name, _ in threads)
    for (name, pid), times in threads.items():
        gaps = [b - a for a, b in zip(times, times[1:])]
        row = {"pid": pid, "wakeups": len(times), "wakeups_per_s": t.rate(len(times))}
        if gaps:
            row.update(interval_us_min=min(gaps), interval_us_max=max(gaps), interval_us_avg=sum(gaps) / len(gaps))
        out[name if names[name] == 1 else "%s-%d" % (name, pid)] = row
    n = sum(len(v) for v in threads.values())
    out["(all)"] = {"wakeups": n, "wakeups_per_s": t.rate(n)}
    causes, chains = chain(t)
    for (thread, cause, waker), n in causes.items():
        out[("why %s %s %s" % (thread, cause, waker)).strip()] = {"wakeups": n}
    for origin, c in chains.items():
        out["chain " + " ".join(origin)] = {
            "grace_periods": c["gps"], "wakeups": c["gp"] + c["og"] + c["op"], "wakeups_gp_thread": c["gp"], "wakeups_rcuog": c["og"], "wakeups_rcuop": c["op"]}
    return out


def chain(t):
    started, known, last_on = origins(t)
    untold = ("-", "-", "-")
    index = lambda rs: [r.i for r in rs]
    starts, ends, requests = index(t.gp("start")), index(t.gp("end")), sorted(known)
    roots = [r for r in t.by["rcu_quiescent_state_report"] if r.words[3] == "0" and r.words[2].endswith(">0")]
    by_others = index(r for r in roots if not r.task.startswith("rcu_preempt") or r.flags[2] == "s")
    roots = index(roots)
    offload = t.by["rcu_nocb_wake"]
    timers = index(r for r in offload if r.words[2] == "Timer")
    queue_wakes = [r for r in offload if r.words[2] in ("DoWake", "DeferredWake", "WakeEmptyIsDeferred", "WakeOvfIsDeferred")]
    queue_at = index(queue_wakes)
    woken = defaultdict(list)
    for r in t.by["sched_wakeup"]:
        woken[field(r.text, "pid")].append(r.i)
    gp_lists = {"request": index(t.gp("reqwait")), "scan": index(t.gp("fqswait")), "start": starts}
    groups_woken = index(r for r in t.by["sched_wakeup"] if "comm=rcuog/" in r.text)
    waits, sleeps = defaultdict(list), defaultdict(list)
    for r in t.by["rcu_future_grace_period"]:
        if r.words[6] == "StartWait":
            waits[str(r.pid)].append(r.i)
    for r in offload:
        if r.words[2] == "Sleep":
            sleeps[str(r.pid)].append(r.i)
    causes, chains = Counter(), defaultdict(Counter)

    def over(i):
        start, end = latest(starts, i), latest(ends, i)
        if start > end:
            if latest(roots, i) > start:
                return started[start]
        else:
            return started.get(latest(starts, end)) if end >= 0 else None
        return started.get(latest(starts, end)) if end >= 0 else None

    for r in t.by["sched_wakeup"]:
        m = re.match(r"comm=(.*) pid=(\d+) prio=", r.text)
        task, pid, i = m.group(1), m.group(2), r.i
        if task == "rcu_preempt":
            state = before(dict(gp_lists, woken=woken[pid]), i)
            if state == "request":
                cause, origin, column = "request", known.get(latest(requests, i)), "gp"
            elif state == "scan":
                start = latest(starts, i)
                cause = "last report" if latest(by_others, i) > start else "scan due"
                origin, column = started.get(start) if start > latest(ends, i) else None, "gp"
            else:
                cause, origin, column = "unknown", None, "gp"
        elif task.startswith("rcuog/"):
            state, column = before({"wait": waits[pid], "sleep": sleeps[pid], "woken": woken[pid]}, i), "og"
            if state == "wait":
                cause, origin = "grace period over", over(i)
            elif state == "sleep":
                cause = "timer" if latest(timers, i) > latest(groups_woken, i) else "callback queued"
                origin = None
                place = bisect.bisect_left(queue_at, i)
                if place:
                    wake = queue_wakes[place - 1]
                    on_cpu = last_on.get(int(wake.words[1]), [])
                    place = bisect.bisect_left(on_cpu, (wake.i,))
                    origin = on_cpu[place - 1][1] + (task,) if place else None
            else:
                cause, origin = "unknown", None
        elif task.startswith("rcuop/"):
            cause, origin, column = "callbacks done", over(i), "op"
        else:
            continue
        if t.inside(r):
            causes[(kind(task), cause, context(r))] += 1
            chains[origin or untold][column] += 1
    for i in starts:
        if t.inside(t.all[i]):
            chains[started[i] or untold]["gps"] += 1
    softirqs(t, causes)
    return causes, chains


def softirqs(t, causes):
    lists = defaultdict(lambda: defaultdict(list))
    for r in t.all:
        if r.event == "hrtimer_expire_entry" and "function=tick_nohz_handler" in r.text:
            lists[r.cpu]["tick"].append(r.i)
        elif r.event == "cpu_idle":
            lists[int(field(r.text, "cpu_id"))]["other"].append(r.i)
        elif r.event == "sched_switch" or (r.event == "softirq_entry" and "vec=9" in r.text):
            lists[r.cpu]["other"].append(r.i)
    for r in t.by["softirq_entry"]:
        if "vec=9" in r.text and t.inside(r):
            causes[("RCU softirq", "tick" if before(lists[r.cpu], r.i) == "tick" else "other", "interrupt")] += 1


# callbacks

def callbacks(t):
    offload = t.by["rcu_nocb_wake"]
    lazy_on = any(r.words[2] in ("Lazy", "WakeLazy", "WakeLazyIsDeferred") for r in offload)
    first_offload = {}
    for r in offload:
        first_offload.setdefault(int(r.words[1]), r.i)
    of_cpu = defaultdict(list)
    for r in t.all:
        of_cpu[r.cpu].append(r)
    places = {r.i: n for cpu in of_cpu for n, r in enumerate(of_cpu[cpu])}
    queued, done = {}, []
    for r in t.all:
        if r.event in ("rcu_callback", "rcu_kvfree_callback"):
            queued[field(r.text, "rhp")] = r
        elif r.event in ("rcu_invoke_callback", "rcu_invoke_kvfree_callback"):
            done.append((queued.pop(field(r.text, "rhp"), None), r))
    left = [r for r in queued.values() if t.inside(r)]
    name = lambda r: field(r.text, "func") if r.event in ("rcu_callback", "rcu_invoke_callback") else "kvfree"

    def is_lazy(q, until):
        if first_offload.get(q.cpu, until) >= until:
            return False
        mine, n = of_cpu[q.cpu], places[q.i]
        first = n > 0 and mine[n - 1].event == "rcu_nocb_wake" and mine[n - 1].words[2] == "FirstQ"
        for r in mine[n + 1:]:
            interrupt = r.flags[2] in "hHzZs"
            if r.event == "rcu_nocb_wake":
                what = r.words[2]
                if r.pid != q.pid or int(r.words[1]) != q.cpu:
                    continue
                if what == "FirstQ" or what.startswith("FirstBQ"):
                    return True
                if what in ("WakeEmpty", "WakeEmptyIsDeferred"):
                    return not first
                if what.startswith("Wake") and not what.startswith("WakeLazy"):
                    return False
            elif r.event in ("rcu_callback", "rcu_kvfree_callback"):
                return True
            elif r.pid == q.pid and not interrupt:
                return True
        return True

    table = defaultdict(lambda: {"queued": 0, "invoked": 0, "lazy": 0, "unseen": 0, "left": 0, "delays": []})
    cases = lambda q: [name(q), "(all)", "task %s %s" % (context(q), name(q))]
    for q in (r for e in ("rcu_callback", "rcu_kvfree_callback") for r in t.by[e] if t.inside(r)):
        for case in cases(q):
            table[case]["queued"] += 1
    for q, r in done:
        lazy = q is not None and t.inside(q) and is_lazy(q, r.i)
        for case in cases(q) if q else [name(r), "(all)"]:
            if t.inside(r) and q is None:
                table[case]["invoked"] += 1
                table[case]["unseen"] += 1
            elif t.inside(r):
                table[case]["invoked"] += 1
                if t.inside(q):
                    table[case]["delays"].append(r.t - q.t)
            table[case]["lazy"] += lazy and (t.inside(r) or t.inside(q))
    for q in left:
        for case in cases(q):
            table[case]["left"] += 1
            table[case]["lazy"] += is_lazy(q, len(t.all))
    for r in t.by["rcu_invoke_kfree_bulk_callback"]:
        if t.inside(r):
            for case in ("kvfree (bulk)", "(all)"):
                table[case]["invoked"] += int(field(r.text, "nr_records"))
                table[case]["unseen"] += int(field(r.text, "nr_records"))
    table["(all)"]
    out = {}
    for case, row in table.items():
        v = sorted(row.pop("delays"))
        if not any(row.values()):
            if case != "(all)":
                continue
        if not lazy_on:
            del row["lazy"]
        if v:
            row.update(delay_ms_min=v[0] / 1e3, delay_ms_avg=sum(v) / len(v) / 1e3, delay_ms_p50=percentile(v, 50) / 1e3,
                       delay_ms_p99=percentile(v, 99) / 1e3, delay_ms_max=v[-1] / 1e3)
        out[case] = row
    return out


# batches

def batches(t):
    of = defaultdict(list)
    for r in t.all:
        if r.event in ("rcu_batch_start", "rcu_batch_end") and t.inside(r):
            of[r.task if re.match("rcuo[ps]/", r.task) else "softirq CPU %d" % r.cpu].append(r)
    out, everything, every_ready = {}, [], []
    for who, events in of.items():
        starts = [r.t for r in events if r.event == "rcu_batch_start"]
        pairs = [(a.t, b.t, int(field(b.text, "CBs-invoked"))) for a, b in zip(events, events[1:])
                 if a.event == "rcu_batch_start" and b.event == "rcu_batch_end"]
        ready = [int(field(r.text, "CBs")) for r in events if r.event == "rcu_batch_start"]
        everything, every_ready = everything + pairs, every_ready + ready
        if ready:
            out[who] = sizes(pairs, ready)
            gaps = sorted(b - a for a, b in zip(starts, starts[1:]))
            if gaps:
                out[who].update(spacing_ms_min=gaps[0] / 1e3, spacing_ms_p50=percentile(gaps, 50) / 1e3, spacing_ms_avg=sum(gaps) / len(gaps) / 1e3)
    out["(all)"] = sizes(everything, every_ready)
    return out


def sizes(pairs, ready):
    out = {"batches": len(pairs), "invoked": sum(p[2] for p in pairs)}
    if ready:
        out.update(batch_ready_avg=sum(ready) / len(ready), batch_ready_max=max(ready))
    if pairs:
        d = sorted(b - a for a, b, _ in pairs)
        out.update(batch_invoked_avg=out["invoked"] / len(pairs), batch_invoked_max=max(p[2] for p in pairs),
                   duration_us_avg=sum(d) / len(d), duration_us_p50=percentile(d, 50), duration_us_max=d[-1])
    return out


# gps

def gps(t):
    started, _, _ = origins(t)
    events = sorted(t.by["rcu_grace_period"] + t.by["rcu_quiescent_state_report"] + t.by["rcu_future_grace_period"], key=lambda r: r.i)
    phases = {p: [] for p in ("request to start", "init", "wait", "scan", "cleanup", "start to end", "end to next start", "expedited")}
    scans, last, asked, longest = Counter(), defaultdict(list), defaultdict(list), []
    marked = t.first
    starts = [n for n, r in enumerate(events) if r.event == "rcu_grace_period" and r.words[2] == "start"]
    previous_end = None
    for place, n in enumerate(starts):
        start = events[n]
        until = starts[place + 1] if place + 1 < len(starts) else len(events)
        body = []
        for r in events[n + 1:until]:
            body.append(r)
            if r.event == "rcu_grace_period" and r.words[2] == "end":
                break
        end = body[-1] if body and body[-1].event == "rcu_grace_period" and body[-1].words[2] == "end" else None
        if end is None or not t.inside(start) or not t.inside(end):
            continue
        # Asked for since the start before: at once, or while that one ran.
        since = starts[place - 1] if place else -1
        before_start, running = [], place > 0
        for r in events[since + 1:n]:
            what = r.words[2] if r.event == "rcu_grace_period" else r.words[6] if r.event == "rcu_future_grace_period" else None
            if r.event == "rcu_grace_period" and what == "end":
                running = False
            if what == "newreq" or (what == "Startleaf" and not running):
                before_start.append(r.t)
        if before_start:
            phases["request to start"].append(start.t - before_start[0])
        marks = [r for r in body if r.event == "rcu_grace_period" and r.words[2] in ("fqswait", "fqsstart", "fqsend")]
        report = [r for r in body if r.event == "rcu_quiescent_state_report" and r.words[2].endswith(">0") and r.words[3] == "0"]
        report = report[-1] if report else None
        waits = [r for r in marks if r.words[2] == "fqswait"]
        if waits:
            phases["init"].append(waits[0].t - start.t)
        for a, b in zip(marks, marks[1:] + [None]):
            kinds = (a.words[2], b.words[2] if b else None)
            if kinds == ("fqswait", "fqsstart"):
                phases["wait"].append(b.t - a.t)
            elif kinds == ("fqsstart", "fqsend"):
                phases["scan"].append(b.t - a.t)
            elif kinds == ("fqswait", None) and report and report.i > a.i:
                phases["wait"].append(report.t - a.t)
        if report:
            phases["cleanup"].append(end.t - report.t)
        phases["start to end"].append(end.t - start.t)
        if previous_end is not None:
            phases["end to next start"].append(start.t - previous_end)
        previous_end = end.t
        number = sum(r.words[2] == "fqsend" for r in marks)
        scans[number] += 1
        who = "not traced"
        if report:
            cleared = int(report.words[2].split(">")[0], 16)
            who = "CPU %d" % (cleared.bit_length() - 1) if bin(cleared).count("1") == 1 else "several CPUs"
            scanning = [r.words[2] for r in marks if r.i < report.i][-1:] == ["fqsstart"]
            who += ", found by scan %d" % number if scanning and report.task == "rcu_preempt" and report.flags[2] != "s" else ", reported"
        last[who].append(end.t - start.t)
        origin = started[start.i]
        if origin:
            asked[origin].append(end.t - start.t)
        longest.append((-(end.t - start.t), start.i, start.t, number, who, origin))
    out = {}
    for name, v in phases.items():
        v.sort()
        out[name] = {"n": len(v)}
        if v:
            out[name].update(duration_us_min=v[0], duration_us_avg=sum(v) / len(v), duration_us_p50=percentile(v, 50), duration_us_p99=percentile(v, 99),
                             duration_us_max=v[-1])
    for n, count in scans.items():
        out["scans %d" % n] = {"grace_periods": count}
    for prefix, table in (("last ", last), ("asked ", {" ".join(k): v for k, v in asked.items()})):
        for who, v in table.items():
            out[prefix + who] = {"grace_periods": len(v), "gp_ms_avg": sum(v) / len(v) / 1e3, "gp_ms_max": max(v) / 1e3}
    for place, (duration, _, at, number, who, origin) in enumerate(sorted(longest, key=lambda g: g[:2])[:10]):
        case = "longest %d %s %s" % (place + 1, who, " ".join(origin or ("-", "-", "-")))
        out[case] = {"start_s": at / 1e6, "gp_ms": -duration / 1e3, "scans": number}
    return out


# idle

def idle(t):
    """By CPU, every change of cpu_idle as (row, state or None)."""
    out, changes = {}, defaultdict(list)
    for r in t.by["cpu_idle"]:
        state = int(field(r.text, "state"))
        changes[int(field(r.text, "cpu_id"))].append((r, None if state == 4294967295 else state))
    ticks = [r for r in t.by["hrtimer_expire_entry"] if "function=tick_nohz_handler" in r.text]
    hit = [r for r in ticks if r.pid == 0 and t.inside(r)]
    whole = t.seconds * 1e6
    states = defaultdict(lambda: [0, 0, []])
    total = 0
    for cpu, list_ in changes.items():
        entries, spent, lengths = 0, 0, []
        for (r, state), following in zip(list_, list_[1:] + [(None, None)]):
            if state is None or r.i >= t.last:
                continue
            end = following[0]
            stop = min(end.t if end else t.t1, t.t1)
            clipped = max(0, stop - max(r.t, t.t0))
            if t.inside(r):
                entries += 1
                states[state][0] += 1
                if end and t.inside(end):
                    lengths.append(end.t - r.t)
                    states[state][2].append(end.t - r.t)
            spent += clipped
            states[state][1] += clipped
        n = sum(r.cpu == cpu for r in hit)
        total += entries
        row = {"idle_entries": entries, "idle_entries_per_s": t.rate(entries), "idle_pct": spent * 100 / whole, "idle_ticks": n, "idle_ticks_per_s": t.rate(n)}
        lengths.sort()
        if lengths:
            row.update(idle_ms_avg=sum(lengths) / len(lengths) / 1e3, idle_ms_p50=percentile(lengths, 50) / 1e3, idle_ms_max=lengths[-1] / 1e3)
        out["CPU %d cpu_idle" % cpu] = row
    out["CPU (all)"] = {"idle_entries": total, "idle_entries_per_s": t.rate(total), "idle_ticks": len(hit), "idle_ticks_per_s": t.rate(len(hit))}
    for state, (entries, spent, lengths) in states.items():
        out["state %d" % state] = {"idle_entries": entries, "idle_entries_per_s": t.rate(entries), "residency_pct": spent * 100 / whole / len(changes)}
        if lengths:
            out["state %d" % state]["idle_ms_avg"] = sum(lengths) / len(lengths) / 1e3
    for case, n in reasons(t, ticks).items():
        out["tick " + case] = {"idle_ticks": n, "idle_ticks_per_s": t.rate(n)}
    out.update(lost(t, changes))
    return out


def reasons(t, ticks):
    """What each tick on an idle CPU was for."""
    of_cpu = defaultdict(list)
    for r in t.all:
        cpu = int(field(r.text, "cpu_id")) if r.event == "cpu_idle" else r.cpu
        of_cpu[cpu].append(r)
    place = {r.i: n for cpu in of_cpu for n, r in enumerate(of_cpu[cpu])}
    tick_ids = {r.i for r in ticks}
    # Callbacks by CPU: (queued, invoked or never, function).
    waits, open_ = defaultdict(list), {}
    for r in t.all:
        if r.event in ("rcu_callback", "rcu_kvfree_callback", "rcu_invoke_callback", "rcu_invoke_kvfree_callback"):
            head = field(r.text, "rhp")
            found = open_.pop(head, None)
            if found:
                found[1] = r.i
            if "invoke" not in r.event:
                open_[head] = [r.i, float("inf"), field(r.text, "func") if r.event == "rcu_callback" else "kvfree"]
                waits[r.cpu].append(open_[head])
    first_offload = {}
    for r in t.by["rcu_nocb_wake"]:
        first_offload.setdefault(int(r.words[1]), r.i)
    out = Counter()
    for r in ticks:
        if r.pid != 0 or not t.inside(r):
            continue
        mine, n = of_cpu[r.cpu], place[r.i]
        behind = []
        for e in mine[n + 1:]:
            if e.event in ("cpu_idle", "sched_switch") or e.i in tick_ids:
                break
            behind.append(e)
        function = None
        if first_offload.get(r.cpu, float("inf")) > r.i:
            # The oldest of the run of callbacks that is not empty: who came when there was none.
            count, function = 0, None
            changes = sorted([(q, 1, f) for q, _, f in waits[r.cpu] if q < r.i] + [(d, -1, f) for q, d, f in waits[r.cpu] if d < r.i])
            for _, step, f in changes:
                if count == 0 and step == 1:
                    function = f
                count += step
            if count == 0:
                function = None
        timer = [field(e.text, "function") for e in behind if e.event == "timer_expire_entry"]
        if function:
            out["callbacks " + function] += 1
        elif timer:
            out["timer " + timer[0]] += 1
        elif any(e.event == "softirq_entry" and "vec=9" in e.text for e in behind):
            out["RCU softirq"] += 1
        else:
            busy = False
            for e in reversed(mine[:n]):
                if e.i in tick_ids:
                    break
                if e.pid != 0 and e.cpu == r.cpu and e.flags[2] not in "hHzZs":
                    busy = True
                    break
            out["after a task" if busy else "nothing seen"] += 1
    return out


def lost(t, changes):
    on = defaultdict(list)
    woken = defaultdict(list)
    for r in t.all:
        on[r.cpu].append(r)
        if r.event in ("sched_wakeup", "sched_wakeup_new"):
            woken[int(field(r.text, "target_cpu"))].append(r)
    index = {cpu: [r.i for r in v] for cpu, v in on.items()}
    table = defaultdict(list)
    for cpu, list_ in changes.items():
        entries = [r for r, state in list_ if state is not None]
        for a, b in zip(entries, entries[1:]):
            here = on[cpu][bisect.bisect_right(index[cpu], a.i):bisect.bisect_left(index[cpu], b.i)]
            if not here or not t.inside(here[0]) or not t.inside(b):
                continue
            causes = [(w.i, re.match(r"comm=(.*) pid=", w.text).group(1)) for w in woken[cpu] if a.i < w.i < b.i]
            causes = [(i, kind(task) if re.match("rcu", task) else "a task") for i, task in causes]
            causes += [(r.i, "RCU softirq") for r in here if r.event == "softirq_entry" and "vec=9" in r.text]
            tick = any(r.event == "hrtimer_expire_entry" and "function=tick_nohz_handler" in r.text for r in here)
            cause = min(causes)[1] if causes else "tick" if tick else "other"
            table[cause].append((b.t - here[0].t, here[0].t - a.t))
    rcu = [v for cause in table if cause.lower().startswith("rcu") for v in table[cause]]
    everything = [v for vs in table.values() for v in vs]
    out = {}
    if everything:
        table = dict(table, **{"(RCU)": rcu, "(all)": everything})
    for cause, v in table.items():
        spent = sum(a for a, _ in v)
        out["lost " + cause] = {"interruptions": len(v), "interruptions_per_s": t.rate(len(v)), "lost_ms": spent / 1e3,
                                "lost_pct": spent * 100 / (t.seconds * 1e6 * len(changes))}
        if v:
            out["lost " + cause].update(lost_us_avg=spent / len(v), idle_before_ms_avg=sum(b for _, b in v) / len(v) / 1e3)
    return out


ANALYSES = {"wakeups": wakeups, "callbacks": callbacks, "batches": batches, "gps": gps, "idle": idle}


def main(paths):
    blocks = []
    for path in paths:
        t = Trace(path)
        for name, analysis in ANALYSES.items():
            found = analysis(t)
            lines = ["  %s: %s" % (json.dumps(case), json.dumps({k: round(v, 9) for k, v in sorted(row.items())})) for case, row in sorted(found.items())]
            blocks.append("%s: {\n%s\n }" % (json.dumps(os.path.basename(path).split(".")[0] + " " + name), ",\n".join(lines)))
    print("{\n %s\n}" % ",\n ".join(blocks))


if __name__ == "__main__":
    main(sys.argv[1:])

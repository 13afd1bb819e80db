#!/usr/bin/env python3
"""Figures of a trace, computed a second time and in another way than tools/trace does: the whole trace in memory, lists instead of counts.

  figures.py TRACE.txt.xz...    one JSON object, a key a trace, in the form of ../kernel-measurements.json, callback_traces

`cut-figures.json` is what it prints for the *-cut.txt.xz files; for whole traces it prints the same as kernel-measurements.json.
"""
import collections, json, lzma, os, re, sys

LINE = re.compile(r"^\s*(.*)-(\d+)\s+\[(\d+)\] (\S+)\s+(\d+)\.(\d{6}): (\w+): ?(.*)$")


def rows(path):
    with lzma.open(path, "rt") as lines:
        for line in lines:
            m = LINE.match(line)
            if m:
                task, pid, cpu, _, s, us, event, text = m.groups()
                yield int(pid), int(cpu), int(s) * 1000000 + int(us), event, text


def spread(us, digits=4):
    if not us:
        return {"n": 0}
    v = sorted(us)
    d = {"n": len(v), "mean": round(sum(v) / len(v) / 1000, digits), "min": v[0] / 1000, "max": v[-1] / 1000}
    for p in (10, 25, 50, 75, 90, 99):
        d["p%d" % p] = v[int(len(v) * p / 100)] / 1000
    return d


def window(all_rows):
    starts = [t for _, _, t, e, x in all_rows if e == "tracing_mark_write" and x.startswith("WORKLOAD_START")]
    ends = [t for _, _, t, e, x in all_rows if e == "tracing_mark_write" and x.startswith("WORKLOAD_END")]
    return (starts or [all_rows[0][2]])[0], (ends or [all_rows[-1][2]])[0]


def grace_periods(all_rows, t0, t1):
    """(start, end, scans, kthread CPU and mask left by the first scan); one leaf node."""
    gps, now, mask = [], None, 0
    for _, cpu, t, e, x in all_rows:
        if e == "rcu_grace_period":
            what = x.split()[2]
            if what == "start":
                now = {"start": t, "scans": 0}
                gps.append(now)
            elif what == "fqsend" and now:
                now["scans"] += 1
                if now["scans"] == 1:
                    now["first"] = (t, cpu, mask)
            elif what == "end" and now:
                now["end"] = t
                now = None
        elif e == "rcu_grace_period_init":
            mask = int(x.split()[-1], 16)
        elif e == "rcu_quiescent_state_report":
            mask = int(x.split()[2].split(">")[1], 16)
    return [g for g in gps if t0 <= g["start"] <= t1]


def holdouts(gps, t1):
    classes = collections.Counter()
    for g in gps:
        if "first" in g and g["first"][0] <= t1:
            _, cpu, left = g["first"]
            own, others = left >> cpu & 1, left & ~(1 << cpu)
            classes[{(0, 0): "none", (1, 0): "gp_kthread_cpu_only", (1, 1): "gp_kthread_cpu_and_others",
                     (0, 1): "other_cpus_only"}[own, int(others > 0)]] += 1
    return dict(classes)


def delays(all_rows, t0, t1):
    queued, out = {}, collections.defaultdict(list)
    for _, _, t, e, x in all_rows:
        if e == "rcu_callback":
            head, function = re.search(r"rhp=(\S+) func=(\S+)", x).groups()
            queued[head] = (t, function)
        elif e == "rcu_invoke_callback":
            at, function = queued.pop(re.search(r"rhp=(\S+)", x).group(1), (None, None))
            if at is not None and at >= t0 and t0 <= t <= t1:
                out[function].append(t - at)
    return out


def figures(path):
    all_rows = list(rows(path))
    t0, t1 = window(all_rows)
    inside = [r for r in all_rows if t0 <= r[2] <= t1]
    rate = lambda n: round(n / ((t1 - t0) / 1e6), 2)
    text = lambda event: [r[4] for r in inside if r[3] == event]
    gps = grace_periods(all_rows, t0, t1)
    done = [g for g in gps if g.get("end", t1 + 1) <= t1]
    latency = delays(all_rows, t0, t1)
    batches = [int(re.search(r"CBs=(\d+)", x).group(1)) for x in text("rcu_batch_start")]
    tasks = [re.search(r"comm=(.*) pid=", x).group(1) for x in text("sched_wakeup")]
    kinds = collections.Counter(re.sub(r"/\d.*", "/N", t) for t in tasks)
    ticks = [r for r in inside if r[3] == "hrtimer_expire_entry" and "function=tick_nohz_handler" in r[4]]
    idle = collections.Counter(r[1] for r in ticks if r[0] == 0)
    entries = collections.Counter(r[1] for r in inside if r[3] == "cpu_idle" and "state=4294967295" not in r[4])
    functions = collections.Counter(re.search(r"func=(\S+)", x).group(1) for x in text("rcu_callback"))
    return {
        "window_s": round((t1 - t0) / 1e6, 3), "callbacks": len(text("rcu_callback")),
        "callbacks_invoked_in_window": len(text("rcu_invoke_callback")), "cb_functions": functions,
        "grace_periods": len(done), "grace_periods_per_s": rate(len(done)),
        "gp_duration_ms": spread([g["end"] - g["start"] for g in done]),
        "gp_gap_ms": spread([b["start"] - a["end"] for a, b in zip(done, done[1:])]),
        "cb_latency_ms": spread([d for v in latency.values() for d in v]),
        "cb_latency_ms_by_function": {f: spread(v) for f, v in latency.items()},
        "batch_CBs": {"n": len(batches), "mean": round(sum(batches) / max(len(batches), 1), 3), "max": max(batches, default=0)},
        "fqs_scans_per_gp": collections.Counter(str(g["scans"]) for g in done),
        "holdouts_after_first_fqs": holdouts(gps, t1),
        "wakeups_per_s": {k: rate(n) for k, n in kinds.items()}, "total_wakeups_per_s": rate(len(tasks)),
        "nocb_wake": collections.Counter(x.split()[-1] for x in text("rcu_nocb_wake")),
        "rcu_softirqs_per_s": rate(len(text("softirq_entry"))), "ticks_per_s_total": rate(len(ticks)),
        "ticks_per_s_on_idle_total": rate(sum(idle.values())),
        "ticks_on_idle_per_s_by_cpu": {str(c): rate(idle[c]) for c in range(8)},
        "idle_entries_per_s": rate(sum(entries.values())),
        "idle_entries_per_s_by_cpu": {str(c): rate(entries[c]) for c in range(8)},
    }


if __name__ == "__main__":
    print(json.dumps({os.path.basename(p).split(".")[0]: figures(p) for p in sys.argv[1:]}, indent=1, sort_keys=True))

-- The analyses of `quiescent trace` for Perfetto's trace processor: `quiescent trace --sql > quiescent.sql`,
-- then `trace_processor_shell --query-file`, or paste it into ui.perfetto.dev's query page, and select from
-- the views. Functions have names only if the trace was recorded with `symbolize_ksyms`.
--
-- Written in plain SQL on the tables ftrace_event, thread and sched and the function EXTRACT_ARG. The whole
-- trace counts: there is no window.

-- Who woke up: a row for each wake-up.
CREATE VIEW quiescent_wakeup AS
SELECT
  e.ts,
  EXTRACT_ARG(e.arg_set_id, 'comm') AS thread_name,
  EXTRACT_ARG(e.arg_set_id, 'pid') AS tid,
  EXTRACT_ARG(e.arg_set_id, 'target_cpu') AS target_cpu,
  t.name AS waker
FROM ftrace_event AS e
LEFT JOIN thread AS t USING (utid)
WHERE e.name = 'sched_wakeup';

-- Threads by wake-ups, as `trace FILE wakeups`: how many, and from one to the next.
CREATE VIEW quiescent_wakeups AS
SELECT
  thread_name,
  tid,
  COUNT(*) AS wakeups,
  MIN(passed) / 1e3 AS interval_us_min,
  MAX(passed) / 1e3 AS interval_us_max,
  AVG(passed) / 1e3 AS interval_us_avg
FROM (
  SELECT thread_name, tid, ts - LAG(ts) OVER (PARTITION BY tid ORDER BY ts) AS passed
  FROM quiescent_wakeup
)
GROUP BY tid
ORDER BY wakeups DESC, tid;

-- Who woke whom, and how often.
CREATE VIEW quiescent_wakers AS
SELECT thread_name, waker, COUNT(*) AS wakeups
FROM quiescent_wakeup
GROUP BY thread_name, waker
ORDER BY wakeups DESC;

-- Steps of grace periods.
CREATE VIEW quiescent_gp_step AS
SELECT
  id,
  ts,
  EXTRACT_ARG(arg_set_id, 'gp_seq') AS gp_seq,
  EXTRACT_ARG(arg_set_id, 'gpevent') AS step
FROM ftrace_event
WHERE name = 'rcu_grace_period';

-- Grace periods that start and end in the trace, as `trace FILE gps`: when, how long, how many scans.
CREATE VIEW quiescent_gp AS
SELECT
  gp_seq,
  ts,
  next_ts - ts AS dur,
  (
    SELECT COUNT(*)
    FROM quiescent_gp_step AS scan
    WHERE scan.step = 'fqsend' AND scan.ts BETWEEN both.ts AND both.next_ts
  ) AS scans
FROM (
  SELECT
    gp_seq,
    ts,
    step,
    LEAD(ts) OVER (ORDER BY ts, id) AS next_ts,
    LEAD(step) OVER (ORDER BY ts, id) AS next_step
  FROM quiescent_gp_step
  WHERE step IN ('start', 'end')
) AS both
WHERE step = 'start' AND next_step = 'end';

-- Callbacks that are queued, and invoked: a callback is known by its head.
CREATE VIEW quiescent_callback_step AS
SELECT
  e.id,
  e.ts,
  e.name = 'rcu_invoke_callback' AS invoked,
  EXTRACT_ARG(e.arg_set_id, 'rhp') AS head,
  EXTRACT_ARG(e.arg_set_id, 'func') AS function_name,
  t.name AS task
FROM ftrace_event AS e
LEFT JOIN thread AS t USING (utid)
WHERE e.name IN ('rcu_callback', 'rcu_invoke_callback');

-- A row for each callback that was invoked, with the time since it was queued; none if that was not seen.
CREATE VIEW quiescent_callback AS
SELECT
  ts,
  function_name,
  IIF(was_invoked, NULL, queued_by) AS queued_by,
  IIF(was_invoked, NULL, ts - was_ts) AS delay
FROM (
  SELECT
    ts,
    invoked,
    function_name,
    LAG(ts) OVER same AS was_ts,
    LAG(task) OVER same AS queued_by,
    COALESCE(LAG(invoked) OVER same, 1) AS was_invoked
  FROM quiescent_callback_step
  WINDOW same AS (PARTITION BY head ORDER BY ts, id)
)
WHERE invoked;

-- Callbacks by function, as `trace FILE callbacks`.
CREATE VIEW quiescent_callbacks AS
SELECT
  step.function_name,
  SUM(NOT step.invoked) AS queued,
  SUM(step.invoked) AS invoked,
  (
    SELECT AVG(delay) / 1e6
    FROM quiescent_callback AS it
    WHERE it.function_name = step.function_name
  ) AS delay_ms_avg
FROM quiescent_callback_step AS step
GROUP BY step.function_name
ORDER BY queued DESC;

-- Who waited for a grace period, as `trace FILE waits` for normal waits: from the request until the task
-- runs again. A wait may have both events: the first one counts.
CREATE VIEW quiescent_wait AS
SELECT
  MIN(ts) AS ts,
  tid,
  task,
  recognised_by,
  until - MIN(ts) AS dur
FROM (
  SELECT
    e.ts,
    t.tid,
    t.name AS task,
    IIF(e.name = 'rcu_callback', 'wakeme_after_rcu', e.name) AS recognised_by,
    (SELECT MIN(s.ts) FROM sched AS s WHERE s.utid = e.utid AND s.ts > e.ts) AS until
  FROM ftrace_event AS e
  JOIN thread AS t USING (utid)
  WHERE
    (e.name = 'rcu_callback' AND EXTRACT_ARG(e.arg_set_id, 'func') = 'wakeme_after_rcu')
    OR (e.name = 'rcu_sr_normal' AND EXTRACT_ARG(e.arg_set_id, 'srevent') = 'request')
)
WHERE until IS NOT NULL
GROUP BY tid, until;

-- Writer: none (view of incidents_latest).  Readers: people in SQL, Grafana.
-- A minute is bad for a job while an incident of the network that is no child affects it. Days without an incident have no row.
CREATE VIEW IF NOT EXISTS job_sla
(
    job String COMMENT 'training job',
    day Date COMMENT 'UTC, event time',
    incidents UInt64 COMMENT 'incidents that affected the job on that day',
    bad_minutes UInt64 COMMENT 'minutes of the day in which one was open; overlapping ones count once',
    p0_minutes UInt64 COMMENT 'of them, minutes in which one of severity P0 was open',
    good_share Float64 COMMENT 'share of the day''s minutes without an incident, 0..1'
)
AS SELECT
    job,
    toDate(at) AS day,
    uniqExact(incident_id) AS incidents,
    uniqExact(at) AS bad_minutes,
    uniqExactIf(at, severity = 'P0') AS p0_minutes,
    1 - bad_minutes / 1440 AS good_share
FROM
(
    SELECT
        incident_id, severity, job,
        arrayJoin(arrayMap(m -> toDateTime(60 * m, 'UTC'), range(
            intDiv(toUnixTimestamp(opened_at), 60),
            least(intDiv(toUnixTimestamp(ifNull(closed_at, now64(6))), 60),
                  intDiv(toUnixTimestamp(opened_at), 60) + 44640) + 1))) AS at
    FROM incidents_latest
    ARRAY JOIN jobs AS job
    WHERE parent = '' AND kind NOT IN ('agent', 'pipeline')
)
GROUP BY job, day
COMMENT 'minutes of each day in which an incident affected a job'

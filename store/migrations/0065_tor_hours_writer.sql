-- Writer: inserts into tor_minutes.  Readers: none (fills tor_hours).
-- What is added to tor_minutes is added here: few rows of an insert, so that it costs next to nothing.
CREATE MATERIALIZED VIEW IF NOT EXISTS tor_hours_writer TO tor_hours AS
SELECT
    toStartOfHour(minute) AS hour,
    fabric, layer, src_asw, dst_asw, src_pod, dst_pod,
    sum(t.sent) AS sent,
    sum(t.lost) AS lost,
    sum(t.refused) AS refused,
    quantilesTDigestWeightedMergeState(0.5, 0.99)(t.rtt) AS rtt,
    max(t.rtt_max_us) AS rtt_max_us,
    max(t.ingested_at) AS ingested_at
FROM tor_minutes AS t
GROUP BY hour, fabric, layer, src_asw, dst_asw, src_pod, dst_pod
COMMENT 'fills tor_hours with what is inserted into tor_minutes; not to be read'

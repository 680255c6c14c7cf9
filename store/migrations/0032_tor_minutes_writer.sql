-- Writer: inserts into path_windows.  Readers: none (fills tor_minutes).
-- The same windows as of path_half_minutes, added up between ToRs.
CREATE MATERIALIZED VIEW IF NOT EXISTS tor_minutes_writer TO tor_minutes AS
SELECT
    toStartOfMinute(window_start) AS minute,
    fabric, layer, src_asw, dst_asw, src_pod, dst_pod,
    sum(toUInt64(w.sent)) AS sent,
    sum(toUInt64(w.lost)) AS lost,
    sum(toUInt64(w.refused)) AS refused,
    quantilesTDigestWeightedStateIf(0.5, 0.99)(
        ifNull(w.rtt_p50_us, 0), w.rtt_count, isNotNull(w.rtt_p50_us) AND w.rtt_count > 0) AS rtt,
    max(ifNull(w.rtt_max_us, 0)) AS rtt_max_us,
    max(w.ingested_at) AS ingested_at
FROM path_windows AS w
WHERE toUnixTimestamp(window_start) % 30 = 0
GROUP BY minute, fabric, layer, src_asw, dst_asw, src_pod, dst_pod
COMMENT 'fills tor_minutes with what is inserted into path_windows; not to be read'

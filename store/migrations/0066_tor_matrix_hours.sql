-- Writer: none (view of tor_hours).  Readers: people in SQL, Grafana.
-- For a day, add up sent and lost; percentiles of longer steps come from tor_hours.rtt by quantilesTDigestWeightedMerge.
CREATE VIEW IF NOT EXISTS tor_matrix_hours
(
    hour DateTime('UTC') COMMENT 'begin of the hour, event time',
    fabric LowCardinality(String) COMMENT 'the network that the ToRs are in',
    layer LowCardinality(String) COMMENT 'overlay | underlay',
    src_asw LowCardinality(String) COMMENT 'ToR of the source',
    dst_asw LowCardinality(String) COMMENT 'ToR of the destination',
    src_pod LowCardinality(String) COMMENT 'pod of the source',
    dst_pod LowCardinality(String) COMMENT 'pod of the destination',
    sent UInt64 COMMENT 'probes',
    lost UInt64 COMMENT 'probes without an answer',
    refused UInt64 COMMENT 'probes that the peer''s kernel refused',
    loss Nullable(Float64) COMMENT 'share of the probes that were lost, 0..1; NULL without probes',
    rtt_p50_us Nullable(Float32) COMMENT 'median over paths and windows of their median round trip [us]',
    rtt_p99_us Nullable(Float32) COMMENT '99th percentile of the same [us]',
    rtt_max_us Nullable(Float32) COMMENT 'longest round trip [us]'
)
AS SELECT
    hour, fabric, layer, src_asw, dst_asw, src_pod, dst_pod,
    sum(t.sent) AS sent,
    sum(t.lost) AS lost,
    sum(t.refused) AS refused,
    lost / nullIf(sent, 0) AS loss,
    ifNotFinite(quantilesTDigestWeightedMerge(0.5, 0.99)(t.rtt)[1], NULL) AS rtt_p50_us,
    ifNotFinite(quantilesTDigestWeightedMerge(0.5, 0.99)(t.rtt)[2], NULL) AS rtt_p99_us,
    nullIf(max(t.rtt_max_us), 0) AS rtt_max_us
FROM tor_hours AS t
GROUP BY hour, fabric, layer, src_asw, dst_asw, src_pod, dst_pod
COMMENT 'loss and round trips between two ToRs by hour'

-- Writer: the view tor_hours_writer.  Readers: the view tor_matrix_hours.
-- tor_minutes by hour: a heat map of a day reads a sixtieth of its rows. It begins with the first window that is stored after
-- this migration; hours before it are in tor_minutes.
CREATE TABLE IF NOT EXISTS tor_hours
(
    hour DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)) COMMENT 'begin of the hour, event time',
    fabric LowCardinality(String) COMMENT 'the network that the path is in',
    layer LowCardinality(String) COMMENT 'overlay | underlay',
    src_asw LowCardinality(String) COMMENT 'ToR of the source',
    dst_asw LowCardinality(String) COMMENT 'ToR of the destination',
    src_pod LowCardinality(String) COMMENT 'pod of the source',
    dst_pod LowCardinality(String) COMMENT 'pod of the destination',
    sent SimpleAggregateFunction(sum, UInt64) COMMENT 'probes',
    lost SimpleAggregateFunction(sum, UInt64) COMMENT 'probes without an answer',
    refused SimpleAggregateFunction(sum, UInt64) COMMENT 'probes that the peer''s kernel refused',
    rtt AggregateFunction(quantilesTDigestWeighted(0.5, 0.99), Float32, UInt32) COMMENT 'median round trips of the paths'' windows, weighted by their answers; read it by tor_matrix_hours',
    rtt_max_us SimpleAggregateFunction(max, Float32) COMMENT 'longest round trip [us]',
    ingested_at SimpleAggregateFunction(max, DateTime('UTC')) COMMENT 'when the newest of it was stored; retention counts from here'
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (hour, fabric, layer, src_asw, dst_asw, src_pod, dst_pod)
TTL ingested_at + INTERVAL 2 YEAR
SETTINGS ttl_only_drop_parts = 1
COMMENT 'probes between two ToRs by hour, as states; read tor_matrix_hours'

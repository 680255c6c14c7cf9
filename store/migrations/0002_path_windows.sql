-- Writer: streams.sink (skh.windows, kind=window).  Readers: people in SQL, Grafana and the api,
-- through the view path_windows_latest.
-- One row per five-tuple path and 30 s window. The same window may be written again after a
-- rebalance, when a worker re-reads its pings; the version that has seen most records wins.
CREATE TABLE IF NOT EXISTS path_windows
(
    window_start DateTime('UTC') COMMENT 'first second of the window, event time',
    window_end DateTime('UTC') COMMENT 'first second after the window',
    path_id UInt64,
    fabric LowCardinality(String),
    layer LowCardinality(String),
    task_type LowCardinality(String),
    src_node_id LowCardinality(String),
    src_ip LowCardinality(String),
    src_real_ip LowCardinality(String),
    src_node_sn LowCardinality(String),
    src_asw LowCardinality(String),
    src_dsw LowCardinality(String),
    src_pod LowCardinality(String),
    dst_node_id LowCardinality(String),
    dst_ip LowCardinality(String),
    dst_real_ip LowCardinality(String),
    dst_node_sn LowCardinality(String),
    dst_asw LowCardinality(String),
    dst_dsw LowCardinality(String),
    dst_pod LowCardinality(String),
    src_tenant_id LowCardinality(String),
    src_port UInt16,
    dst_port UInt16,
    records UInt32,
    sent UInt32,
    lost UInt32,
    refused UInt32,
    rtt_count UInt32,
    rtt_mean_us Nullable(Float32),
    rtt_p25_us Nullable(Float32),
    rtt_p50_us Nullable(Float32),
    rtt_p75_us Nullable(Float32),
    rtt_min_us Nullable(Float32),
    rtt_std_us Nullable(Float32),
    rtt_max_us Nullable(Float32),
    source_partition UInt16 COMMENT 'partition of skh.windows',
    source_offset UInt64 CODEC(DoubleDelta, ZSTD(1)) COMMENT 'offset in skh.windows',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here',
    INDEX by_ingest ingested_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(records)
PARTITION BY toYYYYMMDD(ingested_at)
PRIMARY KEY (toStartOfHour(window_start), path_id)
ORDER BY (toStartOfHour(window_start), path_id, window_start, window_end)
TTL ingested_at + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1

-- Writer: streams.sink (skh.anomalies).  Readers: people in SQL, Grafana, through anomalies_unique.
-- One row per path and window that behaved badly when something was decided.
CREATE TABLE IF NOT EXISTS anomalies
(
    fabric LowCardinality(String),
    path_id UInt64 COMMENT 'as in pings and path_windows; 16 hex digits in the JSON document',
    layer LowCardinality(String),
    symptom LowCardinality(String),
    src_node_sn LowCardinality(String),
    src_real_ip LowCardinality(String),
    src_ip LowCardinality(String),
    dst_node_sn LowCardinality(String),
    dst_real_ip LowCardinality(String),
    dst_ip LowCardinality(String),
    src_port UInt16,
    dst_port UInt16,
    window_start DateTime64(6, 'UTC'),
    window_end DateTime64(6, 'UTC'),
    sent UInt32 COMMENT 'probes',
    lost UInt32 COMMENT 'probes',
    loss_rate Float32 COMMENT '0..1',
    latency_excess_us Nullable(Float32) COMMENT 'against the past of the path itself',
    incident_id LowCardinality(String) COMMENT 'empty when no incident came of it',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ingested_at)
ORDER BY (window_end, fabric, path_id, window_start, symptom, incident_id)
TTL ingested_at + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1

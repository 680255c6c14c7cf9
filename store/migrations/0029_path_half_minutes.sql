-- Writer: the view path_half_minutes_writer.  Readers: the views path_minutes, component_health.
-- The windows that begin at second 0 and 30, so that each probe is counted once: a sixth of path_windows, kept for longer.
-- A window that is stored again (a replayed message, a rebalance) replaces itself, as in path_windows.
CREATE TABLE IF NOT EXISTS path_half_minutes
(
    window_start DateTime('UTC') CODEC(Delta, ZSTD(1)) COMMENT 'second 0 or 30 of a minute, event time',
    path_id UInt64 COMMENT 'five-tuple path; the same in all tables',
    fabric LowCardinality(String) COMMENT 'the network that the path is in',
    layer LowCardinality(String) COMMENT 'overlay | underlay',
    task_type LowCardinality(String) COMMENT 'RDMA_PING | TCP_PING | UDP_PING | ICMP_PING',
    src_node_id LowCardinality(String) COMMENT 'source: container id',
    src_ip LowCardinality(String) COMMENT 'source: address of the container''s endpoint',
    src_real_ip LowCardinality(String) COMMENT 'source: address of the host''s rnic',
    src_node_sn LowCardinality(String) COMMENT 'source: host serial number',
    src_asw LowCardinality(String) COMMENT 'source: access switch (the ToR) of the rnic',
    src_dsw LowCardinality(String) COMMENT 'source: distribution switch above the ToR',
    src_pod LowCardinality(String) COMMENT 'source: pod (point of delivery) of the host',
    dst_node_id LowCardinality(String) COMMENT 'destination: container id',
    dst_ip LowCardinality(String) COMMENT 'destination: address of the container''s endpoint',
    dst_real_ip LowCardinality(String) COMMENT 'destination: address of the host''s rnic',
    dst_node_sn LowCardinality(String) COMMENT 'destination: host serial number',
    dst_asw LowCardinality(String) COMMENT 'destination: access switch (the ToR) of the rnic',
    dst_dsw LowCardinality(String) COMMENT 'destination: distribution switch above the ToR',
    dst_pod LowCardinality(String) COMMENT 'destination: pod (point of delivery) of the host',
    src_tenant_id LowCardinality(String) COMMENT 'source: tenant of the container',
    src_port UInt16 COMMENT 'source port of the five-tuple',
    dst_port UInt16 COMMENT 'destination port of the five-tuple',
    records UInt32 COMMENT 'ping records',
    sent UInt32 COMMENT 'probes',
    lost UInt32 COMMENT 'probes without an answer',
    refused UInt32 COMMENT 'probes that the peer''s kernel refused: the network works, the agent does not',
    rtt_count UInt32 COMMENT 'round trips that the figures are about',
    rtt_mean_us Nullable(Float32) COMMENT 'mean round trip [us]',
    rtt_p50_us Nullable(Float32) COMMENT 'median round trip [us]',
    rtt_min_us Nullable(Float32) COMMENT 'shortest round trip [us]',
    rtt_max_us Nullable(Float32) COMMENT 'longest round trip [us]',
    ingested_at DateTime('UTC') COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree(records)
PARTITION BY toYYYYMM(ingested_at)
PRIMARY KEY (toStartOfHour(window_start), path_id)
ORDER BY (toStartOfHour(window_start), path_id, window_start)
TTL ingested_at + INTERVAL 1 YEAR
SETTINGS ttl_only_drop_parts = 1
COMMENT 'half a minute of a path, each probe counted once; read path_minutes'

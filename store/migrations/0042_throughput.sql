-- Writer: streams.sink (skh.throughput).  Readers: people in SQL, Grafana, through the views throughput_minutes and
-- job_throughput_minutes.
-- One row per rnic and second: the sorting key is what a duplicate is, so a replayed message collapses. An hour of an rnic lies
-- together, which is what makes a row small (skeletonhunter bench --only store-throughput). Kept as long as single pings.
CREATE TABLE IF NOT EXISTS throughput
(
    time DateTime('UTC') CODEC(Delta, ZSTD(1)) COMMENT 'begin of the second, by the clock of the host',
    fabric LowCardinality(String) COMMENT 'the network that the rnic is in',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    real_ip LowCardinality(String) COMMENT 'address of the host''s rnic',
    tx_bytes UInt64 CODEC(T64, ZSTD(1)) COMMENT 'bytes that the rnic''s port sent in this second, of all traffic',
    rx_bytes UInt64 CODEC(T64, ZSTD(1)) COMMENT 'bytes that it received in this second',
    source_partition UInt16 CODEC(ZSTD(1)) COMMENT 'partition of skh.throughput',
    source_offset UInt64 CODEC(DoubleDelta, ZSTD(1)) COMMENT 'offset in skh.throughput',
    ingested_at DateTime('UTC') DEFAULT now() CODEC(Delta, ZSTD(1)) COMMENT 'when the sink stored it; retention counts from here',
    INDEX by_minute toStartOfMinute(time) TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ingested_at)
PRIMARY KEY (toStartOfHour(time), fabric, real_ip)
ORDER BY (toStartOfHour(time), fabric, real_ip, node_sn, time)
TTL ingested_at + INTERVAL 14 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'bytes of each rnic by second, as agents measured them; a second without a row was not measured; read with FINAL, or throughput_minutes'

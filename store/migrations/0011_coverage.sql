-- Writer: streams.sink (skh.coverage).  Readers: the api, people in SQL, Grafana.
-- What the judged probes of a fabric crossed of its topology, once a minute.
CREATE TABLE IF NOT EXISTS coverage
(
    fabric LowCardinality(String),
    at DateTime64(6, 'UTC') COMMENT 'second up to which probes were judged, event time',
    paths UInt32 COMMENT 'five-tuple paths that were remembered',
    components UInt32 COMMENT 'rnics, switches, links, vSwitches and containers of the topology',
    uncovered UInt32 COMMENT 'of them, crossed by no judged probe',
    untraced UInt32 COMMENT 'links between switches that only probes of unknown routes may cross',
    uncovered_names Array(String) CODEC(ZSTD(3)) COMMENT 'the first thousand of them',
    untraced_names Array(String) CODEC(ZSTD(3)) COMMENT 'the first thousand of them',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (fabric, at)
TTL ingested_at + INTERVAL 1 YEAR
SETTINGS ttl_only_drop_parts = 1

-- Writer: streams.sink (skh.dead-letter, and what it finds itself).  Readers: people in SQL.
-- One row per message or record that could not be used. Two readers of the same topic complain
-- about the same place; the sorting key makes that one row (read with FINAL).
CREATE TABLE IF NOT EXISTS dead_letters
(
    topic LowCardinality(String) COMMENT 'where the message was',
    partition Int32,
    offset Int64,
    line Int64 COMMENT '1-based row in the message or file; 0 when the whole message is bad',
    column LowCardinality(String) COMMENT 'offending column; empty when none is to blame',
    reason String COMMENT 'what was wrong, with which value',
    raw String CODEC(ZSTD(3)) COMMENT 'the bytes as they came',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (topic, partition, offset, line, column)
TTL ingested_at + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1

-- Writer: streams.sink (skh.placement).  Readers: the api (jobs), people in SQL, Grafana.
-- Where containers run and for which job: one row for each document; the newest of a container holds.
CREATE TABLE IF NOT EXISTS placement
(
    fabric LowCardinality(String) COMMENT 'the network that the component or path is in',
    node_id String COMMENT 'container id',
    valid_from DateTime64(3, 'UTC') COMMENT 'from when on it holds, event time',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    state LowCardinality(String) COMMENT 'starting | ready | draining | gone',
    job LowCardinality(String) COMMENT 'the training job that it works for; empty when none',
    tenant LowCardinality(String) COMMENT 'whose container it is',
    ips Array(String) COMMENT 'addresses of its endpoints',
    rnics Array(String) COMMENT 'address of the host''s rnic behind each of them',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (fabric, node_id, valid_from)
TTL ingested_at + INTERVAL 2 YEAR
SETTINGS ttl_only_drop_parts = 1
COMMENT 'where containers run and for which job, one row for each change; the newest valid_from of a node_id holds; read with FINAL'

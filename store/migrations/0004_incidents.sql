-- Writer: streams.sink (skh.incidents).  Readers: the api (history), people in SQL, Grafana; the
-- last version of each incident is in the view incidents_latest.
-- One row per version of an incident. document is the message itself; the other columns repeat
-- what is filtered and grouped by.
CREATE TABLE IF NOT EXISTS incidents
(
    incident_id String,
    version UInt32,
    state LowCardinality(String),
    fabric LowCardinality(String),
    component String,
    kind LowCardinality(String),
    layer LowCardinality(String),
    symptom LowCardinality(String),
    issue_type LowCardinality(String) COMMENT 'empty when unknown',
    direction LowCardinality(String),
    opened_at DateTime64(6, 'UTC') COMMENT 'first bad pane, event time',
    detected_at DateTime64(6, 'UTC') COMMENT 'what a live user would have seen',
    updated_at DateTime64(6, 'UTC'),
    closed_at Nullable(DateTime64(6, 'UTC')) COMMENT 'NULL while open',
    severity LowCardinality(String),
    confidence Float64,
    p_value Float64,
    tie_set Array(String) COMMENT 'all that probes cannot tell from component, with it',
    parent String COMMENT 'incident_id of the incident that explains this one; empty when none',
    paths_bad UInt32,
    paths_total UInt32,
    jobs Array(String),
    tenants Array(String),
    strategy LowCardinality(String),
    document String CODEC(ZSTD(3)) COMMENT 'the whole JSON document',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here',
    evidence String ALIAS JSONExtractRaw(document, 'evidence') COMMENT 'JSON object',
    explanation String ALIAS JSONExtractString(document, 'evidence', 'text') COMMENT 'one sentence'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (incident_id, version)
TTL ingested_at + INTERVAL 2 YEAR
SETTINGS ttl_only_drop_parts = 1

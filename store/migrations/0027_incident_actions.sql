-- Writer: the api (POST /api/v1/incidents/{id}/actions).  Readers: the api, people in SQL, Grafana.
-- One row per action of a person on an incident. The sorting key is what a repeated request is.
-- The tenants are those of the incident then, so that an action is seen by who sees the incident.
CREATE TABLE IF NOT EXISTS incident_actions
(
    incident_id String COMMENT 'as in incidents',
    key String COMMENT 'of the request: a repeated one has the same',
    kind LowCardinality(String) COMMENT 'acknowledge | assign | note | resolve | reopen | feedback',
    actor String COMMENT 'who acted: the name of the token, else what the client said',
    assignee String COMMENT 'of kind assign: who takes care of it',
    verdict LowCardinality(String) COMMENT 'of kind feedback: right | wrong_component | false_alarm',
    text String CODEC(ZSTD(3)) COMMENT 'a note',
    version UInt32 COMMENT 'of the incident that was the last one then',
    tenants Array(String) COMMENT 'that the incident affected then',
    at DateTime64(6, 'UTC') COMMENT 'when it was stored, by the clock of the api; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (incident_id, key)
TTL toDateTime(at) + INTERVAL 2 YEAR
SETTINGS ttl_only_drop_parts = 1
COMMENT 'one row for each action of a person on an incident; read with FINAL'

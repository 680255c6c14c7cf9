-- Writer: none (view of placement and topology_components).  Readers: the view job_places, people in SQL, Grafana.
-- From when to when a container was where, and for which job. Containers without a document of skh.placement are those of the
-- topology document that held then, as in the api.
CREATE VIEW IF NOT EXISTS placement_spans
(
    fabric LowCardinality(String) COMMENT 'the network that the container is in',
    node_id String COMMENT 'container id',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    state LowCardinality(String) COMMENT 'starting | ready | draining | gone; ready of a container that only the topology document has',
    job LowCardinality(String) COMMENT 'the training job that it works for; empty when none',
    tenant LowCardinality(String) COMMENT 'whose container it is',
    rnics Array(String) COMMENT 'addresses of the host''s rnics that it uses',
    valid_from DateTime64(3, 'UTC') COMMENT 'from when on it holds, event time',
    valid_until Nullable(DateTime64(3, 'UTC')) COMMENT 'until when (exclusive): the next document; NULL: it still holds'
)
AS SELECT
    fabric, node_id, node_sn, state, job, tenant, rnics, valid_from,
    leadInFrame(toNullable(valid_from), 1, NULL) OVER (
        PARTITION BY fabric, node_id ORDER BY valid_from
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS valid_until
FROM placement FINAL
UNION ALL
SELECT
    c.fabric AS fabric, c.name AS node_id, c.host AS node_sn, 'ready' AS state, c.job AS job, c.tenant AS tenant,
    c.rnics AS rnics, c.valid_from AS valid_from, d.until AS valid_until
FROM (SELECT * FROM topology_components FINAL WHERE kind = 'container') AS c
INNER JOIN
(
    SELECT fabric, valid_from, leadInFrame(toNullable(valid_from), 1, NULL) OVER (
        PARTITION BY fabric ORDER BY valid_from
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS until
    FROM (SELECT DISTINCT fabric, valid_from FROM topology_components)
) AS d ON d.fabric = c.fabric AND d.valid_from = c.valid_from
WHERE (c.fabric, c.name) NOT IN (SELECT fabric, node_id FROM placement)
COMMENT 'where containers were and for which job, with begin and end of each state'

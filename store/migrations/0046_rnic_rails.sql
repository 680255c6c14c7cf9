-- Writer: none (view of topology_components).  Readers: the views of jobs, people in SQL, Grafana.
-- An rnic keeps its host and rail; those that the newest topology document has no more are here as they were last.
CREATE VIEW IF NOT EXISTS rnic_rails
(
    fabric LowCardinality(String) COMMENT 'the network that the rnic is in',
    rnic String COMMENT 'its address, as real_ip in records',
    component String COMMENT 'rnic:address, as in incidents and component_health',
    host LowCardinality(String) COMMENT 'serial number of its host',
    tor LowCardinality(String) COMMENT 'its access switch (the ToR)',
    rail Nullable(UInt16) COMMENT 'its rank in the host'
)
AS SELECT
    fabric,
    argMax(t.name, valid_from) AS rnic,
    component,
    argMax(t.host, valid_from) AS host,
    argMax(t.tor, valid_from) AS tor,
    toNullable(argMax(t.rail, valid_from)) AS rail
FROM topology_components AS t
WHERE kind = 'rnic'
GROUP BY fabric, component
COMMENT 'host, ToR and rail of each rnic, of the newest topology document that has it'

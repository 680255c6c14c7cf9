-- Writer: streams.sink (skh.topology, and the topology that a process is started with).
-- Readers: the api (topology, jobs), people in SQL, Grafana.
-- A topology document as rows: one for each switch, link, host, rnic and container. A document holds
-- until the next one of its fabric; the newest is few rows, so there is no retention.
CREATE TABLE IF NOT EXISTS topology_components
(
    fabric LowCardinality(String) COMMENT 'the network that the component or path is in',
    valid_from DateTime64(3, 'UTC') COMMENT 'from when on the document holds; all rows of a document have the same',
    component String COMMENT 'kind:name, as in incidents',
    kind LowCardinality(String) COMMENT 'tor | agg | spine | link | host | rnic | container',
    name String COMMENT 'as records have it: of an rnic its address, of a container its id; empty for a link',
    pod LowCardinality(String) COMMENT 'of a switch or host; empty when none is known',
    host LowCardinality(String) COMMENT 'serial number of the host that an rnic or container is in',
    rail UInt16 COMMENT 'of an rnic: its rank in the host',
    tor LowCardinality(String) COMMENT 'of an rnic: its access switch (the ToR)',
    ends Array(String) COMMENT 'of a link: the components that it joins',
    addresses Array(String) COMMENT 'of a switch: its interfaces as traceroutes show them',
    job LowCardinality(String) COMMENT 'of a container: the training job that it works for',
    tenant LowCardinality(String) COMMENT 'of a container: whose it is',
    rnics Array(String) COMMENT 'of a container: addresses of its rnics',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when it was stored'
)
ENGINE = ReplacingMergeTree
ORDER BY (fabric, valid_from, component)
COMMENT 'topology documents as rows, one for each component; the newest valid_from of a fabric holds; read with FINAL'

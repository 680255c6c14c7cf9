-- Writer: none (view of pings).  Readers: people in SQL, Grafana.
-- A traceroute has a path_id of its own, because its task type differs; the key five_tuple is that of probes too.
CREATE VIEW IF NOT EXISTS routes
(
    five_tuple UInt64 COMMENT 'the same for probes and traceroutes of one five-tuple: cityHash64(fabric, layer, src_ip, dst_ip, src_port, dst_port)',
    traced_at DateTime64(9, 'UTC') COMMENT 'when the route was seen',
    fabric LowCardinality(String) COMMENT 'the network that the route is in',
    layer LowCardinality(String) COMMENT 'overlay | underlay',
    src_node_sn LowCardinality(String) COMMENT 'source: host serial number',
    dst_node_sn LowCardinality(String) COMMENT 'destination: host serial number',
    src_ip LowCardinality(String) COMMENT 'source: address of the endpoint',
    dst_ip LowCardinality(String) COMMENT 'destination: address of the endpoint',
    src_port UInt16 COMMENT 'source port of the five-tuple',
    dst_port UInt16 COMMENT 'destination port of the five-tuple',
    hops Array(Nullable(String)) COMMENT 'names of the hops in order, NULL for a silent one'
)
AS SELECT
    cityHash64(fabric, layer, src_ip, dst_ip, src_port, dst_port) AS five_tuple,
    ping_time AS traced_at,
    if(src_idc = '', 'default', src_idc) AS fabric,
    agent_type AS layer,
    src_node_sn, dst_node_sn, src_ip, dst_ip, src_port, dst_port,
    JSONExtract(route, 'Array(Nullable(String))') AS hops
FROM pings FINAL
WHERE task_type = 'TRACEROUTE' AND route NOT IN ('', 'null')
COMMENT 'routes that traceroutes have seen, one row for each traceroute'

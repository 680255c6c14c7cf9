-- blocking: replaces a view by one of more columns; nothing is rewritten
-- Writer: none (view of anomalies and routes).  Readers: people in SQL, Grafana.
-- Bad paths with their routes; now with the five-tuple itself, which people need to probe it again.
CREATE OR REPLACE VIEW anomaly_routes
(
    incident_id LowCardinality(String) COMMENT 'the incident that it belongs to; empty when none came of it',
    fabric LowCardinality(String) COMMENT 'the network that the path is in',
    layer LowCardinality(String) COMMENT 'overlay | underlay',
    path_id UInt64 COMMENT 'as in pings and path_windows',
    five_tuple UInt64 COMMENT 'as in routes',
    symptom LowCardinality(String) COMMENT 'loss | unconnectivity | high_latency',
    src_node_sn LowCardinality(String) COMMENT 'source: host serial number',
    dst_node_sn LowCardinality(String) COMMENT 'destination: host serial number',
    src_ip LowCardinality(String) COMMENT 'source: address of the endpoint',
    dst_ip LowCardinality(String) COMMENT 'destination: address of the endpoint',
    src_real_ip LowCardinality(String) COMMENT 'source: address of the host''s rnic',
    dst_real_ip LowCardinality(String) COMMENT 'destination: address of the host''s rnic',
    src_port UInt16 COMMENT 'source port of the five-tuple',
    dst_port UInt16 COMMENT 'destination port of the five-tuple',
    window_start DateTime64(6, 'UTC') COMMENT 'begin of the bad time, event time',
    window_end DateTime64(6, 'UTC') COMMENT 'its end',
    sent UInt32 COMMENT 'probes',
    lost UInt32 COMMENT 'probes without an answer',
    traced_at Nullable(DateTime64(9, 'UTC')) COMMENT 'when the route was seen; NULL: it was never traced',
    hops Array(Nullable(String)) COMMENT 'the newest route before the end of the bad time; empty: none is known'
)
AS SELECT
    incident_id, a.fabric AS fabric, a.layer AS layer, path_id, a.five_tuple AS five_tuple, symptom,
    a.src_node_sn AS src_node_sn, a.dst_node_sn AS dst_node_sn, a.src_ip AS src_ip, a.dst_ip AS dst_ip,
    src_real_ip, dst_real_ip, a.src_port AS src_port, a.dst_port AS dst_port,
    window_start, window_end, sent, lost,
    nullIf(r.traced_at, toDateTime64(0, 9, 'UTC')) AS traced_at,
    r.hops AS hops
FROM
(
    SELECT *, cityHash64(fabric, layer, src_ip, dst_ip, src_port, dst_port) AS five_tuple, toDateTime64(window_end, 9, 'UTC') AS ended FROM anomalies FINAL
) AS a
ASOF LEFT JOIN routes AS r ON a.five_tuple = r.five_tuple AND a.ended >= r.traced_at
COMMENT 'bad paths with the route that they took, as far as it was traced'

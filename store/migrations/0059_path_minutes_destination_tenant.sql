-- blocking: replaces a view by one of one column more; nothing is rewritten
-- Writer: none (view of path_half_minutes).  Readers: people in SQL, Grafana.
-- Path by minute, each probe counted once; now with the tenant of its destination.
CREATE OR REPLACE VIEW path_minutes
(
    minute DateTime('UTC') COMMENT 'begin of the minute, event time',
    path_id UInt64 COMMENT 'five-tuple path; the same in all tables',
    fabric LowCardinality(String) COMMENT 'the network that the path is in',
    layer LowCardinality(String) COMMENT 'overlay | underlay',
    task_type LowCardinality(String) COMMENT 'RDMA_PING | TCP_PING | UDP_PING | ICMP_PING',
    src_node_id LowCardinality(String) COMMENT 'source: container id',
    src_ip LowCardinality(String) COMMENT 'source: address of the container''s endpoint',
    src_real_ip LowCardinality(String) COMMENT 'source: address of the host''s rnic',
    src_node_sn LowCardinality(String) COMMENT 'source: host serial number',
    src_asw LowCardinality(String) COMMENT 'source: access switch (the ToR) of the rnic',
    src_dsw LowCardinality(String) COMMENT 'source: distribution switch above the ToR',
    src_pod LowCardinality(String) COMMENT 'source: pod (point of delivery) of the host',
    dst_node_id LowCardinality(String) COMMENT 'destination: container id',
    dst_ip LowCardinality(String) COMMENT 'destination: address of the container''s endpoint',
    dst_real_ip LowCardinality(String) COMMENT 'destination: address of the host''s rnic',
    dst_node_sn LowCardinality(String) COMMENT 'destination: host serial number',
    dst_asw LowCardinality(String) COMMENT 'destination: access switch (the ToR) of the rnic',
    dst_dsw LowCardinality(String) COMMENT 'destination: distribution switch above the ToR',
    dst_pod LowCardinality(String) COMMENT 'destination: pod (point of delivery) of the host',
    src_tenant_id LowCardinality(String) COMMENT 'source: tenant of the container',
    dst_tenant_id LowCardinality(String) COMMENT 'destination: tenant of the container; empty where it was not stored',
    src_port UInt16 COMMENT 'source port of the five-tuple',
    dst_port UInt16 COMMENT 'destination port of the five-tuple',
    records UInt64 COMMENT 'ping records',
    sent UInt64 COMMENT 'probes',
    lost UInt64 COMMENT 'probes without an answer',
    refused UInt64 COMMENT 'probes that the peer''s kernel refused: the network works, the agent does not',
    rtt_count UInt64 COMMENT 'round trips that the figures are about',
    rtt_mean_us Nullable(Float64) COMMENT 'mean round trip [us]',
    rtt_p50_us Nullable(Float64) COMMENT 'mean of the medians of its half minutes [us]',
    rtt_min_us Nullable(Float32) COMMENT 'shortest round trip [us]',
    rtt_max_us Nullable(Float32) COMMENT 'longest round trip [us]'
)
AS SELECT
    toStartOfMinute(window_start) AS minute,
    path_id, fabric, layer, task_type, src_node_id, src_ip, src_real_ip, src_node_sn, src_asw,
    src_dsw, src_pod, dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod,
    src_tenant_id, dst_tenant_id, src_port, dst_port,
    sum(w.records) AS records,
    sum(w.sent) AS sent,
    sum(w.lost) AS lost,
    sum(w.refused) AS refused,
    sum(w.rtt_count) AS rtt_count,
    sum(w.rtt_mean_us * w.rtt_count) / nullIf(sum(w.rtt_count), 0) AS rtt_mean_us,
    avg(w.rtt_p50_us) AS rtt_p50_us,
    min(w.rtt_min_us) AS rtt_min_us,
    max(w.rtt_max_us) AS rtt_max_us
FROM path_half_minutes AS w FINAL
GROUP BY
    minute,
    path_id, fabric, layer, task_type, src_node_id, src_ip, src_real_ip, src_node_sn, src_asw,
    src_dsw, src_pod, dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod,
    src_tenant_id, dst_tenant_id, src_port, dst_port
COMMENT 'path by minute, each probe counted once'

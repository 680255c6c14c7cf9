-- blocking: replaces a view by one of one column more; nothing is rewritten
-- Writer: none (view of path_windows).  Readers: people in SQL, Grafana, the api.
-- Each window once, in the version that has seen most records; now with the tenant of its destination.
CREATE OR REPLACE VIEW path_windows_latest
(
    window_start DateTime('UTC') COMMENT 'first second of the window, event time',
    window_end DateTime('UTC') COMMENT 'first second after the window',
    path_id UInt64 COMMENT 'five-tuple path; the same in all tables',
    fabric LowCardinality(String) COMMENT 'the network that the component or path is in',
    layer LowCardinality(String) COMMENT 'overlay | underlay; of incidents also host, agent, pipeline',
    task_type LowCardinality(String) COMMENT 'RDMA_PING | TCP_PING | UDP_PING | ICMP_PING | TRACEROUTE',
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
    records UInt32 COMMENT 'ping records',
    sent UInt32 COMMENT 'probes',
    lost UInt32 COMMENT 'probes without an answer',
    refused UInt32 COMMENT 'probes that the peer''s kernel refused: the network works, the agent does not',
    rtt_count UInt32 COMMENT 'round trips that the figures are about',
    rtt_mean_us Nullable(Float32) COMMENT 'mean round trip [us]',
    rtt_p25_us Nullable(Float32) COMMENT '25th percentile of round trips [us]',
    rtt_p50_us Nullable(Float32) COMMENT 'median round trip [us]',
    rtt_p75_us Nullable(Float32) COMMENT '75th percentile of round trips [us]',
    rtt_min_us Nullable(Float32) COMMENT 'shortest round trip [us]',
    rtt_std_us Nullable(Float32) COMMENT 'standard deviation of round trips [us]',
    rtt_max_us Nullable(Float32) COMMENT 'longest round trip [us]',
    source_partition UInt16 COMMENT 'partition of skh.windows',
    source_offset UInt64 COMMENT 'offset in skh.windows',
    ingested_at DateTime('UTC') COMMENT 'when the sink stored it; retention counts from here'
)
AS SELECT
    window_start, window_end, path_id, fabric, layer, task_type, src_node_id, src_ip,
    src_real_ip, src_node_sn, src_asw, src_dsw, src_pod, dst_node_id, dst_ip, dst_real_ip,
    dst_node_sn, dst_asw, dst_dsw, dst_pod, src_tenant_id, dst_tenant_id, src_port,
    dst_port, records, sent, lost, refused, rtt_count, rtt_mean_us, rtt_p25_us, rtt_p50_us,
    rtt_p75_us, rtt_min_us, rtt_std_us, rtt_max_us, source_partition, source_offset,
    ingested_at
FROM path_windows FINAL
COMMENT 'each window once, in the version that has seen most records; sums count a probe six times, see path_minutes'

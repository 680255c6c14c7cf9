-- blocking: replaces a view by one of one column more; nothing is rewritten
-- Writer: none (view of path_windows_latest, job_places and rnic_rails).  Readers: people in SQL, Grafana.
-- As before (0047), with the tenant of the destination.
CREATE OR REPLACE VIEW job_path_windows
(
    job LowCardinality(String) COMMENT 'training job of a container at an end of the path',
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
    ingested_at DateTime('UTC') COMMENT 'when the sink stored it; retention counts from here',
    src_rail Nullable(UInt16) COMMENT 'source: rank of the rnic in its host; NULL where no topology document has it',
    dst_rail Nullable(UInt16) COMMENT 'destination: rank of the rnic in its host; NULL where no topology document has it'
)
AS SELECT
    s.job AS job,
    w.window_start AS window_start, w.window_end AS window_end, w.path_id AS path_id,
    w.fabric AS fabric, w.layer AS layer, w.task_type AS task_type,
    w.src_node_id AS src_node_id, w.src_ip AS src_ip, w.src_real_ip AS src_real_ip,
    w.src_node_sn AS src_node_sn, w.src_asw AS src_asw, w.src_dsw AS src_dsw,
    w.src_pod AS src_pod, w.dst_node_id AS dst_node_id, w.dst_ip AS dst_ip,
    w.dst_real_ip AS dst_real_ip, w.dst_node_sn AS dst_node_sn, w.dst_asw AS dst_asw,
    w.dst_dsw AS dst_dsw, w.dst_pod AS dst_pod, w.src_tenant_id AS src_tenant_id, w.dst_tenant_id AS dst_tenant_id,
    w.src_port AS src_port, w.dst_port AS dst_port, w.records AS records, w.sent AS sent,
    w.lost AS lost, w.refused AS refused, w.rtt_count AS rtt_count,
    w.rtt_mean_us AS rtt_mean_us, w.rtt_p25_us AS rtt_p25_us, w.rtt_p50_us AS rtt_p50_us,
    w.rtt_p75_us AS rtt_p75_us, w.rtt_min_us AS rtt_min_us, w.rtt_std_us AS rtt_std_us,
    w.rtt_max_us AS rtt_max_us, w.source_partition AS source_partition,
    w.source_offset AS source_offset, w.ingested_at AS ingested_at,
    rs.rail AS src_rail, rd.rail AS dst_rail
FROM path_windows_latest AS w
INNER JOIN job_places AS s ON s.place = if(w.layer = 'overlay', w.src_node_id, w.src_real_ip)
LEFT ANY JOIN rnic_rails AS rs ON rs.fabric = w.fabric AND rs.rnic = w.src_real_ip
LEFT ANY JOIN rnic_rails AS rd ON rd.fabric = w.fabric AND rd.rnic = w.dst_real_ip
WHERE s.layer = w.layer AND s.fabric = w.fabric
    AND arrayExists(span -> w.window_start >= span.1 AND w.window_start < span.2, s.spans)
UNION ALL
SELECT
    d.job AS job,
    w.window_start AS window_start, w.window_end AS window_end, w.path_id AS path_id,
    w.fabric AS fabric, w.layer AS layer, w.task_type AS task_type,
    w.src_node_id AS src_node_id, w.src_ip AS src_ip, w.src_real_ip AS src_real_ip,
    w.src_node_sn AS src_node_sn, w.src_asw AS src_asw, w.src_dsw AS src_dsw,
    w.src_pod AS src_pod, w.dst_node_id AS dst_node_id, w.dst_ip AS dst_ip,
    w.dst_real_ip AS dst_real_ip, w.dst_node_sn AS dst_node_sn, w.dst_asw AS dst_asw,
    w.dst_dsw AS dst_dsw, w.dst_pod AS dst_pod, w.src_tenant_id AS src_tenant_id, w.dst_tenant_id AS dst_tenant_id,
    w.src_port AS src_port, w.dst_port AS dst_port, w.records AS records, w.sent AS sent,
    w.lost AS lost, w.refused AS refused, w.rtt_count AS rtt_count,
    w.rtt_mean_us AS rtt_mean_us, w.rtt_p25_us AS rtt_p25_us, w.rtt_p50_us AS rtt_p50_us,
    w.rtt_p75_us AS rtt_p75_us, w.rtt_min_us AS rtt_min_us, w.rtt_std_us AS rtt_std_us,
    w.rtt_max_us AS rtt_max_us, w.source_partition AS source_partition,
    w.source_offset AS source_offset, w.ingested_at AS ingested_at,
    rs.rail AS src_rail, rd.rail AS dst_rail
FROM path_windows_latest AS w
INNER JOIN job_places AS d ON d.place = if(w.layer = 'overlay', w.dst_node_id, w.dst_real_ip)
LEFT JOIN job_places AS s ON s.fabric = d.fabric AND s.job = d.job AND s.layer = d.layer
    AND s.place = if(w.layer = 'overlay', w.src_node_id, w.src_real_ip)
LEFT ANY JOIN rnic_rails AS rs ON rs.fabric = w.fabric AND rs.rnic = w.src_real_ip
LEFT ANY JOIN rnic_rails AS rd ON rd.fabric = w.fabric AND rd.rnic = w.dst_real_ip
WHERE d.layer = w.layer AND d.fabric = w.fabric
    AND arrayExists(span -> w.window_start >= span.1 AND w.window_start < span.2, d.spans)
    AND NOT arrayExists(span -> w.window_start >= span.1 AND w.window_start < span.2, s.spans)
COMMENT 'windows of 30 s of the paths of a job, with rails; one row for each job that a path touches: sums over jobs count twice'

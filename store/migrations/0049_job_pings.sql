-- Writer: none (view of pings_unique, job_places and rnic_rails).  Readers: people in SQL, Grafana.
-- As job_path_windows, of single records.
CREATE VIEW IF NOT EXISTS job_pings
(
    job LowCardinality(String) COMMENT 'training job of a container at an end of the path',
    path_id UInt64 COMMENT 'five-tuple path, see schemas.identity',
    agent_type LowCardinality(String) COMMENT 'layer of the probe: overlay | underlay',
    dial LowCardinality(String) COMMENT 'outcome: success | timeout | refused | unreachable | error',
    dscp UInt8 COMMENT 'DSCP of the probe, 0..63',
    dst_asw LowCardinality(String) COMMENT 'destination: access switch (the ToR) of the endpoint''s rnic',
    dst_cluster_id LowCardinality(String) COMMENT 'destination: cluster id',
    dst_cluster_name LowCardinality(String) COMMENT 'destination: cluster name',
    dst_dsw LowCardinality(String) COMMENT 'destination: distribution switch above the ToR',
    dst_idc LowCardinality(String) COMMENT 'destination: data centre; names the fabric, empty means ''default''',
    dst_ip LowCardinality(String) COMMENT 'destination: address of the container''s endpoint',
    dst_logic_site LowCardinality(String) COMMENT 'destination: logical site',
    dst_node_id LowCardinality(String) COMMENT 'destination: container id',
    dst_node_sn LowCardinality(String) COMMENT 'destination: host serial number',
    dst_pod LowCardinality(String) COMMENT 'destination: pod (point of delivery) of the host',
    dst_port UInt16 COMMENT 'destination: UDP/TCP port or queue pair''s source port of the five-tuple',
    dst_real_ip LowCardinality(String) COMMENT 'destination: address of the host''s rnic',
    dst_region_id LowCardinality(String) COMMENT 'destination: region id',
    dst_region_name LowCardinality(String) COMMENT 'destination: region name',
    dst_tenant_id LowCardinality(String) COMMENT 'destination: tenant of the container',
    dst_zone_id LowCardinality(String) COMMENT 'destination: zone id',
    host_ip LowCardinality(String) COMMENT 'management address of the source host',
    latency_ns Nullable(UInt32) COMMENT 'round-trip time [ns]; NULL unless dial = success; 4294967295 means that or more',
    loss_rate Nullable(Float32) COMMENT 'share of the record''s probes that were lost, 0..1',
    ping_time DateTime64(9, 'UTC') COMMENT 'send time of the first probe',
    ptp_ts Int64 COMMENT 'PTP time stamp [ns]; 0 where the host has none',
    route String COMMENT 'JSON array of hop names in order, null for a silent hop',
    src_asw LowCardinality(String) COMMENT 'source: access switch (the ToR) of the endpoint''s rnic',
    src_cluster_id LowCardinality(String) COMMENT 'source: cluster id',
    src_cluster_name LowCardinality(String) COMMENT 'source: cluster name',
    src_dsw LowCardinality(String) COMMENT 'source: distribution switch above the ToR',
    src_idc LowCardinality(String) COMMENT 'source: data centre; names the fabric, empty means ''default''',
    src_ip LowCardinality(String) COMMENT 'source: address of the container''s endpoint',
    src_logic_site LowCardinality(String) COMMENT 'source: logical site',
    src_node_id LowCardinality(String) COMMENT 'source: container id',
    src_node_sn LowCardinality(String) COMMENT 'source: host serial number',
    src_pod LowCardinality(String) COMMENT 'source: pod (point of delivery) of the host',
    src_port UInt16 COMMENT 'source: UDP/TCP port or queue pair''s source port of the five-tuple',
    src_real_ip LowCardinality(String) COMMENT 'source: address of the host''s rnic',
    src_region_id LowCardinality(String) COMMENT 'source: region id',
    src_region_name LowCardinality(String) COMMENT 'source: region name',
    src_security_domain LowCardinality(String) COMMENT 'source: security domain',
    src_tenant_id LowCardinality(String) COMMENT 'source: tenant of the container',
    src_zone_id LowCardinality(String) COMMENT 'source: zone id',
    task_start_time DateTime64(9, 'UTC') COMMENT 'start of the probe round; 1970 when unknown',
    task_type LowCardinality(String) COMMENT 'RDMA_PING | TCP_PING | UDP_PING | ICMP_PING | TRACEROUTE',
    sent Nullable(UInt32) COMMENT 'probes in this record''s burst; 1 when absent',
    lost Nullable(UInt32) COMMENT 'probes of the burst without an answer; loss_rate x sent when absent',
    jitter_us Nullable(Float32) COMMENT 'mean difference of consecutive round trips in the burst [us]',
    p50_us Nullable(Float32) COMMENT 'median round trip in the burst [us]',
    p99_us Nullable(Float32) COMMENT '99th percentile round trip in the burst [us]',
    prober_delay_us Nullable(Float32) COMMENT 'time the prober itself added [us]',
    responder_delay_us Nullable(Float32) COMMENT 'time the responder added [us]',
    timestamp LowCardinality(String) COMMENT 'where times were taken: hw | kernel | user',
    cpu_steal Nullable(Float32) COMMENT 'share of CPU time stolen from the prober, 0..1',
    judged_as LowCardinality(String) COMMENT 'late, duplicate or clock_skewed where known; else empty',
    source_partition UInt16 COMMENT 'partition of skh.pings',
    source_offset UInt64 COMMENT 'offset in skh.pings',
    ingested_at DateTime('UTC') COMMENT 'when the sink stored it; retention counts from here',
    latency Nullable(Float64) COMMENT 'round-trip time [us]',
    extra_stats String COMMENT 'JSON object as in samples.csv',
    src_rail Nullable(UInt16) COMMENT 'source: rank of the rnic in its host; NULL where no topology document has it',
    dst_rail Nullable(UInt16) COMMENT 'destination: rank of the rnic in its host; NULL where no topology document has it'
)
AS SELECT
    s.job AS job,
    w.path_id AS path_id, w.agent_type AS agent_type, w.dial AS dial, w.dscp AS dscp,
    w.dst_asw AS dst_asw, w.dst_cluster_id AS dst_cluster_id,
    w.dst_cluster_name AS dst_cluster_name, w.dst_dsw AS dst_dsw, w.dst_idc AS dst_idc,
    w.dst_ip AS dst_ip, w.dst_logic_site AS dst_logic_site, w.dst_node_id AS dst_node_id,
    w.dst_node_sn AS dst_node_sn, w.dst_pod AS dst_pod, w.dst_port AS dst_port,
    w.dst_real_ip AS dst_real_ip, w.dst_region_id AS dst_region_id,
    w.dst_region_name AS dst_region_name, w.dst_tenant_id AS dst_tenant_id,
    w.dst_zone_id AS dst_zone_id, w.host_ip AS host_ip, w.latency_ns AS latency_ns,
    w.loss_rate AS loss_rate, w.ping_time AS ping_time, w.ptp_ts AS ptp_ts, w.route AS route,
    w.src_asw AS src_asw, w.src_cluster_id AS src_cluster_id,
    w.src_cluster_name AS src_cluster_name, w.src_dsw AS src_dsw, w.src_idc AS src_idc,
    w.src_ip AS src_ip, w.src_logic_site AS src_logic_site, w.src_node_id AS src_node_id,
    w.src_node_sn AS src_node_sn, w.src_pod AS src_pod, w.src_port AS src_port,
    w.src_real_ip AS src_real_ip, w.src_region_id AS src_region_id,
    w.src_region_name AS src_region_name, w.src_security_domain AS src_security_domain,
    w.src_tenant_id AS src_tenant_id, w.src_zone_id AS src_zone_id,
    w.task_start_time AS task_start_time, w.task_type AS task_type, w.sent AS sent,
    w.lost AS lost, w.jitter_us AS jitter_us, w.p50_us AS p50_us, w.p99_us AS p99_us,
    w.prober_delay_us AS prober_delay_us, w.responder_delay_us AS responder_delay_us,
    w.timestamp AS timestamp, w.cpu_steal AS cpu_steal, w.judged_as AS judged_as,
    w.source_partition AS source_partition, w.source_offset AS source_offset,
    w.ingested_at AS ingested_at, w.latency AS latency, w.extra_stats AS extra_stats,
    rs.rail AS src_rail, rd.rail AS dst_rail
FROM pings_unique AS w
INNER JOIN job_places AS s ON s.place = if(w.agent_type = 'overlay', w.src_node_id, w.src_real_ip)
LEFT ANY JOIN rnic_rails AS rs ON rs.fabric = if(w.src_idc = '', 'default', w.src_idc) AND rs.rnic = w.src_real_ip
LEFT ANY JOIN rnic_rails AS rd ON rd.fabric = if(w.src_idc = '', 'default', w.src_idc) AND rd.rnic = w.dst_real_ip
WHERE s.layer = w.agent_type AND s.fabric = if(w.src_idc = '', 'default', w.src_idc)
    AND arrayExists(span -> w.ping_time >= span.1 AND w.ping_time < span.2, s.spans)
UNION ALL
SELECT
    d.job AS job,
    w.path_id AS path_id, w.agent_type AS agent_type, w.dial AS dial, w.dscp AS dscp,
    w.dst_asw AS dst_asw, w.dst_cluster_id AS dst_cluster_id,
    w.dst_cluster_name AS dst_cluster_name, w.dst_dsw AS dst_dsw, w.dst_idc AS dst_idc,
    w.dst_ip AS dst_ip, w.dst_logic_site AS dst_logic_site, w.dst_node_id AS dst_node_id,
    w.dst_node_sn AS dst_node_sn, w.dst_pod AS dst_pod, w.dst_port AS dst_port,
    w.dst_real_ip AS dst_real_ip, w.dst_region_id AS dst_region_id,
    w.dst_region_name AS dst_region_name, w.dst_tenant_id AS dst_tenant_id,
    w.dst_zone_id AS dst_zone_id, w.host_ip AS host_ip, w.latency_ns AS latency_ns,
    w.loss_rate AS loss_rate, w.ping_time AS ping_time, w.ptp_ts AS ptp_ts, w.route AS route,
    w.src_asw AS src_asw, w.src_cluster_id AS src_cluster_id,
    w.src_cluster_name AS src_cluster_name, w.src_dsw AS src_dsw, w.src_idc AS src_idc,
    w.src_ip AS src_ip, w.src_logic_site AS src_logic_site, w.src_node_id AS src_node_id,
    w.src_node_sn AS src_node_sn, w.src_pod AS src_pod, w.src_port AS src_port,
    w.src_real_ip AS src_real_ip, w.src_region_id AS src_region_id,
    w.src_region_name AS src_region_name, w.src_security_domain AS src_security_domain,
    w.src_tenant_id AS src_tenant_id, w.src_zone_id AS src_zone_id,
    w.task_start_time AS task_start_time, w.task_type AS task_type, w.sent AS sent,
    w.lost AS lost, w.jitter_us AS jitter_us, w.p50_us AS p50_us, w.p99_us AS p99_us,
    w.prober_delay_us AS prober_delay_us, w.responder_delay_us AS responder_delay_us,
    w.timestamp AS timestamp, w.cpu_steal AS cpu_steal, w.judged_as AS judged_as,
    w.source_partition AS source_partition, w.source_offset AS source_offset,
    w.ingested_at AS ingested_at, w.latency AS latency, w.extra_stats AS extra_stats,
    rs.rail AS src_rail, rd.rail AS dst_rail
FROM pings_unique AS w
INNER JOIN job_places AS d ON d.place = if(w.agent_type = 'overlay', w.dst_node_id, w.dst_real_ip)
LEFT JOIN job_places AS s ON s.fabric = d.fabric AND s.job = d.job AND s.layer = d.layer
    AND s.place = if(w.agent_type = 'overlay', w.src_node_id, w.src_real_ip)
LEFT ANY JOIN rnic_rails AS rs ON rs.fabric = if(w.src_idc = '', 'default', w.src_idc) AND rs.rnic = w.src_real_ip
LEFT ANY JOIN rnic_rails AS rd ON rd.fabric = if(w.src_idc = '', 'default', w.src_idc) AND rd.rnic = w.dst_real_ip
WHERE d.layer = w.agent_type AND d.fabric = if(w.src_idc = '', 'default', w.src_idc)
    AND arrayExists(span -> w.ping_time >= span.1 AND w.ping_time < span.2, d.spans)
    AND NOT arrayExists(span -> w.ping_time >= span.1 AND w.ping_time < span.2, s.spans)
COMMENT 'ping records of a job, with rails; one row for each job that a path touches: sums over jobs count twice'

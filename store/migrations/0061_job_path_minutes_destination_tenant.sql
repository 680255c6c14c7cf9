-- blocking: replaces a view by one of one column more; nothing is rewritten
-- Writer: none (view of path_half_minutes, job_places and rnic_rails).  Readers: people in SQL, Grafana.
-- As before (0048), with the tenant of the destination.
CREATE OR REPLACE VIEW job_path_minutes
(
    job LowCardinality(String) COMMENT 'training job of a container at an end of the path',
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
    rtt_max_us Nullable(Float32) COMMENT 'longest round trip [us]',
    src_rail Nullable(UInt16) COMMENT 'source: rank of the rnic in its host; NULL where no topology document has it',
    dst_rail Nullable(UInt16) COMMENT 'destination: rank of the rnic in its host; NULL where no topology document has it'
)
AS SELECT
    job,
    toStartOfMinute(window_start) AS minute,
    path_id, fabric, layer, task_type, src_node_id, src_ip, src_real_ip, src_node_sn, src_asw,
    src_dsw, src_pod, dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod,
    src_tenant_id, dst_tenant_id, src_port, dst_port,
    sum(h.records) AS records,
    sum(h.sent) AS sent,
    sum(h.lost) AS lost,
    sum(h.refused) AS refused,
    sum(h.rtt_count) AS rtt_count,
    sum(h.rtt_mean_us * h.rtt_count) / nullIf(sum(h.rtt_count), 0) AS rtt_mean_us,
    avg(h.rtt_p50_us) AS rtt_p50_us,
    min(h.rtt_min_us) AS rtt_min_us,
    max(h.rtt_max_us) AS rtt_max_us,
    any(h.src_rail) AS src_rail,
    any(h.dst_rail) AS dst_rail
FROM
(
    SELECT
        s.job AS job,
        w.window_start AS window_start, w.path_id AS path_id, w.fabric AS fabric, w.layer AS layer,
        w.task_type AS task_type, w.src_node_id AS src_node_id, w.src_ip AS src_ip,
        w.src_real_ip AS src_real_ip, w.src_node_sn AS src_node_sn, w.src_asw AS src_asw,
        w.src_dsw AS src_dsw, w.src_pod AS src_pod, w.dst_node_id AS dst_node_id,
        w.dst_ip AS dst_ip, w.dst_real_ip AS dst_real_ip, w.dst_node_sn AS dst_node_sn,
        w.dst_asw AS dst_asw, w.dst_dsw AS dst_dsw, w.dst_pod AS dst_pod,
        w.src_tenant_id AS src_tenant_id, w.dst_tenant_id AS dst_tenant_id, w.src_port AS src_port, w.dst_port AS dst_port,
        w.records AS records, w.sent AS sent, w.lost AS lost, w.refused AS refused,
        w.rtt_count AS rtt_count, w.rtt_mean_us AS rtt_mean_us, w.rtt_p50_us AS rtt_p50_us,
        w.rtt_min_us AS rtt_min_us, w.rtt_max_us AS rtt_max_us,
        rs.rail AS src_rail, rd.rail AS dst_rail
    FROM (SELECT * FROM path_half_minutes FINAL) AS w
    INNER JOIN job_places AS s ON s.place = if(w.layer = 'overlay', w.src_node_id, w.src_real_ip)
    LEFT ANY JOIN rnic_rails AS rs ON rs.fabric = w.fabric AND rs.rnic = w.src_real_ip
    LEFT ANY JOIN rnic_rails AS rd ON rd.fabric = w.fabric AND rd.rnic = w.dst_real_ip
    WHERE s.layer = w.layer AND s.fabric = w.fabric
        AND arrayExists(span -> w.window_start >= span.1 AND w.window_start < span.2, s.spans)
    UNION ALL
    SELECT
        d.job AS job,
        w.window_start AS window_start, w.path_id AS path_id, w.fabric AS fabric, w.layer AS layer,
        w.task_type AS task_type, w.src_node_id AS src_node_id, w.src_ip AS src_ip,
        w.src_real_ip AS src_real_ip, w.src_node_sn AS src_node_sn, w.src_asw AS src_asw,
        w.src_dsw AS src_dsw, w.src_pod AS src_pod, w.dst_node_id AS dst_node_id,
        w.dst_ip AS dst_ip, w.dst_real_ip AS dst_real_ip, w.dst_node_sn AS dst_node_sn,
        w.dst_asw AS dst_asw, w.dst_dsw AS dst_dsw, w.dst_pod AS dst_pod,
        w.src_tenant_id AS src_tenant_id, w.dst_tenant_id AS dst_tenant_id, w.src_port AS src_port, w.dst_port AS dst_port,
        w.records AS records, w.sent AS sent, w.lost AS lost, w.refused AS refused,
        w.rtt_count AS rtt_count, w.rtt_mean_us AS rtt_mean_us, w.rtt_p50_us AS rtt_p50_us,
        w.rtt_min_us AS rtt_min_us, w.rtt_max_us AS rtt_max_us,
        rs.rail AS src_rail, rd.rail AS dst_rail
    FROM (SELECT * FROM path_half_minutes FINAL) AS w
    INNER JOIN job_places AS d ON d.place = if(w.layer = 'overlay', w.dst_node_id, w.dst_real_ip)
    LEFT JOIN job_places AS s ON s.fabric = d.fabric AND s.job = d.job AND s.layer = d.layer
        AND s.place = if(w.layer = 'overlay', w.src_node_id, w.src_real_ip)
    LEFT ANY JOIN rnic_rails AS rs ON rs.fabric = w.fabric AND rs.rnic = w.src_real_ip
    LEFT ANY JOIN rnic_rails AS rd ON rd.fabric = w.fabric AND rd.rnic = w.dst_real_ip
    WHERE d.layer = w.layer AND d.fabric = w.fabric
        AND arrayExists(span -> w.window_start >= span.1 AND w.window_start < span.2, d.spans)
        AND NOT arrayExists(span -> w.window_start >= span.1 AND w.window_start < span.2, s.spans)
) AS h
GROUP BY
    job, minute,
    path_id, fabric, layer, task_type, src_node_id, src_ip, src_real_ip, src_node_sn, src_asw,
    src_dsw, src_pod, dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod,
    src_tenant_id, dst_tenant_id, src_port, dst_port
COMMENT 'paths of a job by minute, each probe counted once, with rails; one row for each job that a path touches: sums over jobs count twice'

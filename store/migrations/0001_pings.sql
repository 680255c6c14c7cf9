-- Writer: streams.sink (skh.pings).  Readers: people in SQL, Grafana, through the view pings_unique.
-- One row per ping record, all 45 columns; extra_stats as typed columns. The sorting key is what a
-- duplicate is, so a replayed message collapses. Retention counts from ingest: a TTL on event time
-- would delete a replayed file of last year on its first merge.
CREATE TABLE IF NOT EXISTS pings
(
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
    ping_time DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)) COMMENT 'send time of the first probe',
    ptp_ts Int64 CODEC(DoubleDelta, ZSTD(1)) COMMENT 'PTP time stamp [ns]; 0 where the host has none',
    route String CODEC(ZSTD(1)) COMMENT 'JSON array of hop names in order, null for a silent hop',
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
    task_start_time DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)) COMMENT 'start of the probe round; 1970 when unknown',
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
    source_offset UInt64 CODEC(DoubleDelta, ZSTD(1)) COMMENT 'offset in skh.pings',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here',
    latency Nullable(Float64) ALIAS latency_ns / 1000 COMMENT 'round-trip time [us]',
    extra_stats String ALIAS toJSONString(
        CAST(tuple(sent, lost, jitter_us, p50_us, p99_us, prober_delay_us, responder_delay_us,
                   nullIf(timestamp, ''), cpu_steal),
             'Tuple(sent Nullable(UInt32), lost Nullable(UInt32), jitter_us Nullable(Float32),
                    p50_us Nullable(Float32), p99_us Nullable(Float32),
                    prober_delay_us Nullable(Float32), responder_delay_us Nullable(Float32),
                    timestamp Nullable(String), cpu_steal Nullable(Float32))'))
        COMMENT 'JSON object as in samples.csv'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ingested_at)
PRIMARY KEY (toStartOfHour(ping_time), path_id)
ORDER BY (toStartOfHour(ping_time), path_id, ping_time, task_type)
TTL ingested_at + INTERVAL 14 DAY
SETTINGS ttl_only_drop_parts = 1

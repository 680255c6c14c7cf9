-- Writer: streams.sink (skh.evidence).  Readers: people in SQL, Grafana, through the view port_counter_gains.
-- Counters and states of ports, as hosts read them when the controller asked about an incident, or a person did: not always, and not of
-- all hosts. Names are those of the kernel and the driver.
CREATE TABLE IF NOT EXISTS port_counters
(
    fabric LowCardinality(String) COMMENT 'the network that the host is in',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    device LowCardinality(String) COMMENT 'port of an RDMA device, as mlx5_0/1, or network interface',
    counter LowCardinality(String) COMMENT 'name of the counter or state, as the kernel or the driver has it',
    time DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)) COMMENT 'when it was read, by the clock of the host',
    rnic LowCardinality(String) COMMENT 'address of the rnic whose port it is; empty: of none that the agent probes from',
    value Int64 CODEC(Delta, ZSTD(1)) COMMENT 'since the device was reset, or the state',
    incident_id String CODEC(ZSTD(1)) COMMENT 'incident that the request was about; empty: none',
    request_id String CODEC(ZSTD(1)) COMMENT 'of the request',
    ingested_at DateTime('UTC') DEFAULT now() CODEC(Delta, ZSTD(1)) COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (fabric, node_sn, device, counter, time)
TTL ingested_at + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'counters of ports as hosts read them when they were asked; read with FINAL, or port_counter_gains'

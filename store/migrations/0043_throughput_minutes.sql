-- Writer: none (view of throughput).  Readers: people in SQL, Grafana.
-- Rates are means over the seconds that were measured: a gap is not taken for a second without traffic.
CREATE VIEW IF NOT EXISTS throughput_minutes
(
    minute DateTime('UTC') COMMENT 'begin of the minute, by the clock of the host',
    fabric LowCardinality(String) COMMENT 'the network that the rnic is in',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    real_ip LowCardinality(String) COMMENT 'address of the host''s rnic',
    component String COMMENT 'rnic:address, as in incidents and component_health',
    seconds UInt64 COMMENT 'of the minute, that were measured: 0 to 60',
    tx_bytes_per_s Float64 COMMENT 'mean of what the rnic sent in the measured seconds [B/s]',
    rx_bytes_per_s Float64 COMMENT 'mean of what it received [B/s]',
    tx_max_bytes_per_s UInt64 COMMENT 'the most that it sent in a second [B/s]',
    rx_max_bytes_per_s UInt64 COMMENT 'the most that it received in a second [B/s]'
)
AS SELECT
    toStartOfMinute(t.time) AS minute, fabric, node_sn, real_ip,
    concat('rnic:', replaceAll(replaceAll(real_ip, '%', '%25'), '|', '%7C')) AS component,
    count() AS seconds,
    avg(t.tx_bytes) AS tx_bytes_per_s,
    avg(t.rx_bytes) AS rx_bytes_per_s,
    max(t.tx_bytes) AS tx_max_bytes_per_s,
    max(t.rx_bytes) AS rx_max_bytes_per_s
FROM throughput AS t FINAL
GROUP BY minute, fabric, node_sn, real_ip
COMMENT 'bytes per second of each rnic, by minute'

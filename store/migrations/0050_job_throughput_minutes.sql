-- Writer: none (view of throughput, job_places and rnic_rails).  Readers: people in SQL, Grafana.
-- As throughput_minutes, of the seconds in which the rnic was a job's. Counters are of the port: where jobs share an rnic, each of them
-- has all of its bytes.
CREATE VIEW IF NOT EXISTS job_throughput_minutes
(
    job LowCardinality(String) COMMENT 'training job of a container that uses the rnic',
    minute DateTime('UTC') COMMENT 'begin of the minute, by the clock of the host',
    fabric LowCardinality(String) COMMENT 'the network that the rnic is in',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    real_ip LowCardinality(String) COMMENT 'address of the host''s rnic',
    component String COMMENT 'rnic:address, as in incidents and component_health',
    seconds UInt64 COMMENT 'of the minute, that were measured: 0 to 60',
    tx_bytes_per_s Float64 COMMENT 'mean of what the rnic sent in the measured seconds [B/s]',
    rx_bytes_per_s Float64 COMMENT 'mean of what it received [B/s]',
    tx_max_bytes_per_s UInt64 COMMENT 'the most that it sent in a second [B/s]',
    rx_max_bytes_per_s UInt64 COMMENT 'the most that it received in a second [B/s]',
    rail Nullable(UInt16) COMMENT 'rank of the rnic in its host; NULL where no topology document has it'
)
AS SELECT
    p.job AS job,
    toStartOfMinute(t.time) AS minute,
    t.fabric AS fabric, t.node_sn AS node_sn, t.real_ip AS real_ip,
    concat('rnic:', replaceAll(replaceAll(t.real_ip, '%', '%25'), '|', '%7C')) AS component,
    count() AS seconds,
    avg(t.tx_bytes) AS tx_bytes_per_s,
    avg(t.rx_bytes) AS rx_bytes_per_s,
    max(t.tx_bytes) AS tx_max_bytes_per_s,
    max(t.rx_bytes) AS rx_max_bytes_per_s,
    any(r.rail) AS rail
FROM (SELECT * FROM throughput FINAL) AS t
INNER JOIN job_places AS p ON p.place = t.real_ip
LEFT ANY JOIN rnic_rails AS r ON r.fabric = t.fabric AND r.rnic = t.real_ip
WHERE p.layer = 'underlay' AND p.fabric = t.fabric
    AND arrayExists(span -> t.time >= span.1 AND t.time < span.2, p.spans)
GROUP BY job, minute, fabric, node_sn, real_ip
COMMENT 'bytes per second of each rnic of a job, by minute, with its rail'

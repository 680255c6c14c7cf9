-- Writer: streams.sink (skh.heartbeats).  Readers: the api (fleet), people in SQL, Grafana.
-- An agent's signs of life. They come once a second; merges leave one row for each agent and minute,
-- so queries group: max(last), max(cpu_steal) and so on.
CREATE TABLE IF NOT EXISTS heartbeats
(
    fabric LowCardinality(String) COMMENT 'the network that the component or path is in',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    scope LowCardinality(String) COMMENT 'part of the host that the agent serves, <layer>/<node_id>; empty: all of it',
    minute DateTime('UTC') COMMENT 'begin of the minute, by the agent''s clock',
    last SimpleAggregateFunction(max, DateTime64(3, 'UTC')) COMMENT 'newest heartbeat, by the agent''s clock',
    cpu_steal SimpleAggregateFunction(max, Float32) COMMENT 'largest share of a second stolen by the hypervisor or a limit, 0..1',
    scheduling_delay_us SimpleAggregateFunction(max, Float32) COMMENT 'largest delay of the agent''s timers [us]',
    behind_ms SimpleAggregateFunction(min, Int64) COMMENT 'least time from the agent''s clock to the broker''s on arrival [ms]; far from 0: one of the clocks is wrong',
    version SimpleAggregateFunction(anyLast, String) COMMENT 'release of the agent',
    started SimpleAggregateFunction(max, DateTime('UTC')) COMMENT 'when the agent was started; 1970 when unknown',
    rnics SimpleAggregateFunction(max, UInt16) COMMENT 'rnics that it probes from',
    sent SimpleAggregateFunction(max, UInt64) COMMENT 'probes since its start',
    answered SimpleAggregateFunction(max, UInt64) COMMENT 'of them, answered',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMMDD(ingested_at)
ORDER BY (fabric, node_sn, scope, minute)
TTL ingested_at + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'signs of life of agents, by minute; group by fabric, node_sn and scope'

-- Writer: streams.sink (skh.skeletons).  Readers: the api (skeleton of a job), people in SQL.
-- What the controller inferred from throughput about a job: one row for each inference; the newest of a job holds.
-- Lists of one row belong together by their index: an rnic's host, cluster, stage and so on; the two ends of a pair.
CREATE TABLE IF NOT EXISTS job_skeletons
(
    fabric LowCardinality(String) COMMENT 'the network that the job is in',
    job String COMMENT 'training job',
    since DateTime64(3, 'UTC') COMMENT 'begin of the throughput that was read',
    until DateTime64(3, 'UTC') COMMENT 'end of the throughput that was read',
    declined String COMMENT 'why there is no skeleton to use; empty: it is used',
    period_s UInt32 COMMENT 'length of a training round [s]',
    dp UInt32 COMMENT 'replicas of a position (degree of data parallelism)',
    tp_pp UInt32 COMMENT 'positions: tensor times pipeline parallelism',
    stages UInt32 COMMENT 'pipeline stages that are told apart',
    unresolved UInt32 COMMENT 'positions that share a cluster with others',
    confidence Float32 COMMENT 'in the whole skeleton, 0..1',
    fidelity Float32 COMMENT 'how well the throughput fits the clusters, 0..1',
    targets Float32 COMMENT 'mean number of other rnics that an rnic may exchange traffic with',
    later_s Array(Float32) COMMENT 'how much later than the first each group of hosts bursts [s]',
    hosts Array(LowCardinality(String)) COMMENT 'of each rnic: host serial number',
    rnics Array(String) COMMENT 'addresses of the job''s rnics',
    clusters Array(Int32) COMMENT 'of each rnic: replicas of a position (a DP group) share a number; -1: none was found',
    stage_of Array(Int32) COMMENT 'of each rnic: pipeline stage, 0 first; -1: none was found',
    experts Array(Int32) COMMENT 'of each rnic: rnics of a number exchange tokens of experts; -1: none was seen',
    exceptions Array(Bool) COMMENT 'of each rnic: whether it fits its cluster badly',
    pairs_a Array(String) COMMENT 'rnics that may exchange traffic: one end of each pair; empty where there are too many for a message',
    pairs_b Array(String) COMMENT 'the other end of each pair',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (fabric, job, until)
TTL ingested_at + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1
COMMENT 'traffic skeletons of jobs as inferred, one row for each inference; the newest until of a job holds; read with FINAL'

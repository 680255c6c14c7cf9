-- Writer: streams.sink (skh.jobs).  Readers: the api (jobs), people in SQL, Grafana.
-- Jobs as their sources announced them: one row for each job, of its newest document. A job that the controller has
-- forgotten stays here.
CREATE TABLE IF NOT EXISTS jobs
(
    job String COMMENT 'training job',
    fabric LowCardinality(String) COMMENT 'the network that it was submitted for; empty before it was submitted',
    tenant LowCardinality(String) COMMENT 'whose job it is',
    submitted Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was submitted; NULL when no source said so',
    submitted_by LowCardinality(String) COMMENT 'source: file | agent | slurm | kubernetes | rest',
    containers UInt32 COMMENT 'containers of the complete job; 0 when not known',
    skeleton Bool COMMENT 'whether the pairs of its traffic may be inferred',
    ended Nullable(DateTime64(3, 'UTC')) COMMENT 'when it ended; NULL while it has not',
    ended_by LowCardinality(String) COMMENT 'source, as submitted_by',
    updated DateTime64(3, 'UTC') COMMENT 'when its newest document arrived at the broker',
    ingested_at DateTime('UTC') DEFAULT now() COMMENT 'when the sink stored it; retention counts from here'
)
ENGINE = ReplacingMergeTree(updated)
ORDER BY job
TTL ingested_at + INTERVAL 2 YEAR
COMMENT 'training jobs as announced, one row for each; read with FINAL'

-- Writer: none (view of placement_spans).  Readers: the views job_pings, job_path_windows, job_path_minutes and
-- job_throughput_minutes, people in SQL.
-- What in a record shows that it is a job's: its containers in the overlay; their rnics in the underlay, where records name no
-- container. Containers of several jobs may share an rnic; then its underlay records are of all of them.
CREATE VIEW IF NOT EXISTS job_places
(
    fabric LowCardinality(String) COMMENT 'the network that the job is in',
    job LowCardinality(String) COMMENT 'training job',
    layer LowCardinality(String) COMMENT 'of the records: overlay | underlay',
    place String COMMENT 'in the overlay a node_id, in the underlay a real_ip',
    spans Array(Tuple(begin DateTime64(3, 'UTC'), end DateTime64(3, 'UTC'))) COMMENT 'when it was the job''s, event time; end: the next state (exclusive), 2106-01-01 of the newest'
)
AS SELECT
    fabric, job,
    tupleElement(p.shown, 1) AS layer,
    tupleElement(p.shown, 2) AS place,
    groupArray((p.valid_from, ifNull(p.valid_until, toDateTime64('2106-01-01 00:00:00', 3, 'UTC')))) AS spans
FROM
(
    SELECT *, arrayJoin(arrayConcat([('overlay', node_id)], arrayMap(each -> ('underlay', each), arrayDistinct(rnics)))) AS shown
    FROM placement_spans
    WHERE job != '' AND state != 'gone'
) AS p
GROUP BY fabric, job, layer, place
COMMENT 'containers and rnics of each job, and when they were its'

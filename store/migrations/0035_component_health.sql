-- Writer: none (view of path_half_minutes).  Readers: people in SQL, Grafana.
-- A probe counts for the rnic, host, ToR, pod and container at both of its ends, once for each. Where routes lead is not in it, so
-- there are no spines and links: who is to blame is in incidents, not here.
CREATE VIEW IF NOT EXISTS component_health
(
    minute DateTime('UTC') COMMENT 'begin of the minute, event time',
    fabric LowCardinality(String) COMMENT 'the network that the component is in',
    component String COMMENT 'kind:name, as in incidents',
    kind LowCardinality(String) COMMENT 'rnic | host | tor | pod | container',
    sent UInt64 COMMENT 'probes from or to it',
    lost UInt64 COMMENT 'of them, without an answer',
    refused UInt64 COMMENT 'of them, refused by the peer''s kernel',
    loss Nullable(Float64) COMMENT 'share of the probes that were lost, 0..1; NULL without probes',
    rtt_p50_us Nullable(Float64) COMMENT 'mean of the median round trips of its paths [us]',
    rtt_max_us Nullable(Float32) COMMENT 'longest round trip [us]',
    paths UInt64 COMMENT 'five-tuple paths that were probed'
)
AS SELECT
    toStartOfMinute(window_start) AS minute,
    fabric,
    arrayJoin(arrayFilter(c -> NOT endsWith(c, ':'), arrayDistinct([
        concat('rnic:', replaceAll(replaceAll(src_real_ip, '%', '%25'), '|', '%7C')),
        concat('rnic:', replaceAll(replaceAll(dst_real_ip, '%', '%25'), '|', '%7C')),
        concat('host:', replaceAll(replaceAll(src_node_sn, '%', '%25'), '|', '%7C')),
        concat('host:', replaceAll(replaceAll(dst_node_sn, '%', '%25'), '|', '%7C')),
        concat('tor:', replaceAll(replaceAll(src_asw, '%', '%25'), '|', '%7C')),
        concat('tor:', replaceAll(replaceAll(dst_asw, '%', '%25'), '|', '%7C')),
        concat('pod:', replaceAll(replaceAll(src_pod, '%', '%25'), '|', '%7C')),
        concat('pod:', replaceAll(replaceAll(dst_pod, '%', '%25'), '|', '%7C')),
        concat('container:', if(layer = 'overlay', replaceAll(replaceAll(src_node_id, '%', '%25'), '|', '%7C'), '')),
        concat('container:', if(layer = 'overlay', replaceAll(replaceAll(dst_node_id, '%', '%25'), '|', '%7C'), ''))
    ]))) AS component,
    substring(component, 1, position(component, ':') - 1) AS kind,
    sum(toUInt64(w.sent)) AS sent,
    sum(toUInt64(w.lost)) AS lost,
    sum(toUInt64(w.refused)) AS refused,
    lost / nullIf(sent, 0) AS loss,
    avg(w.rtt_p50_us) AS rtt_p50_us,
    max(w.rtt_max_us) AS rtt_max_us,
    uniqExact(path_id) AS paths
FROM path_half_minutes AS w FINAL
GROUP BY minute, fabric, component, kind
COMMENT 'probes from or to each rnic, host, ToR, pod and container by minute'

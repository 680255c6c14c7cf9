-- The heat map of a day between ToRs.
SELECT src_asw, dst_asw, sum(sent) AS probes, sum(lost) / probes AS loss
FROM tor_hours
WHERE hour >= {since:DateTime} AND layer = 'underlay'
GROUP BY src_asw, dst_asw

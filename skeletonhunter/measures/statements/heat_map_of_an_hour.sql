-- The heat map of an hour, from exact minutes of paths.
SELECT src_asw, dst_asw, sum(lost) / sum(sent) AS loss
FROM path_minutes
WHERE minute >= {since:DateTime}
GROUP BY src_asw, dst_asw

-- Windows of a job in the last hour, by time and with both directions, from the view of jobs.
SELECT
    window_end, sum(sent) AS probes, sum(lost) AS lost_probes, avg(rtt_p50_us) AS p50_us,
    max(rtt_max_us) AS worst_us
FROM job_path_windows
WHERE window_start >= {since:DateTime} AND job = 'job-3'
GROUP BY window_end
ORDER BY window_end

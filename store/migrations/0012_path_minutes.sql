-- Writer: none (view of path_windows).  Readers: people in SQL, Grafana.
-- Each probe once: windows of 30 s come every 5 s, so sums over path_windows count a probe six times;
-- here are the windows that begin at second 0 and 30, added up by minute.
CREATE VIEW IF NOT EXISTS path_minutes AS
SELECT
    toStartOfMinute(window_start) AS minute,
    path_id, fabric, layer, task_type,
    src_node_id, src_ip, src_real_ip, src_node_sn, src_asw, src_dsw, src_pod,
    dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod,
    src_tenant_id, src_port, dst_port,
    sum(w.records) AS records,
    sum(w.sent) AS sent,
    sum(w.lost) AS lost,
    sum(w.refused) AS refused,
    sum(w.rtt_count) AS rtt_count,
    sum(w.rtt_mean_us * w.rtt_count) / nullIf(sum(w.rtt_count), 0) AS rtt_mean_us,
    avg(w.rtt_p50_us) AS rtt_p50_us,
    min(w.rtt_min_us) AS rtt_min_us,
    max(w.rtt_max_us) AS rtt_max_us
FROM path_windows_latest AS w
WHERE toUnixTimestamp(window_start) % 30 = 0
GROUP BY
    minute, path_id, fabric, layer, task_type,
    src_node_id, src_ip, src_real_ip, src_node_sn, src_asw, src_dsw, src_pod,
    dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw, dst_pod,
    src_tenant_id, src_port, dst_port

-- Writer: inserts into path_windows.  Readers: none (fills path_half_minutes).
-- The query of 0057, and the quartiles.
ALTER TABLE path_half_minutes_writer MODIFY QUERY
SELECT
    window_start, path_id, fabric, layer, task_type, src_node_id, src_ip, src_real_ip, src_node_sn,
    src_asw, src_dsw, src_pod, dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_dsw,
    dst_pod, src_tenant_id, dst_tenant_id, src_port, dst_port, records, sent, lost, refused,
    rtt_count, rtt_mean_us, rtt_p25_us, rtt_p50_us, rtt_p75_us, rtt_min_us, rtt_max_us, ingested_at
FROM path_windows
WHERE toUnixTimestamp(window_start) % 30 = 0

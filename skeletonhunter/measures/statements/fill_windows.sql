-- Windows of paths between 64 hosts in 16 jobs, one each 5 s.
INSERT INTO path_windows (
    window_start, window_end, path_id, fabric, layer, task_type,
    src_node_id, src_ip, src_real_ip, src_node_sn, src_asw, src_pod,
    dst_node_id, dst_ip, dst_real_ip, dst_node_sn, dst_asw, dst_pod,
    src_tenant_id, src_port, dst_port, records, sent, lost, rtt_count,
    rtt_mean_us, rtt_p25_us, rtt_p50_us, rtt_p75_us, rtt_min_us, rtt_std_us, rtt_max_us)
SELECT
    toDateTime({start:UInt32} + 5 * intDiv(number, {paths:UInt32}), 'UTC') AS begin, begin + 30,
    sipHash64(number % {paths:UInt32}) AS path, 'bench', 'overlay', 'UDP_PING',
    concat('job-', toString(src % 16), '-', toString(src)), concat('172.16.', toString(src), '.1'),
    concat('10.0.', toString(src), '.', toString(path % 8)), concat('host-', toString(src)),
    concat('asw-', toString(src % 16)), concat('pod-', toString(src % 4)),
    concat('job-', toString(dst % 16), '-', toString(dst)), concat('172.16.', toString(dst), '.1'),
    concat('10.0.', toString(dst), '.', toString(path % 8)), concat('host-', toString(dst)),
    concat('asw-', toString(dst % 16)), concat('pod-', toString(dst % 4)),
    'tenant', 40000 + path % 20000, 65300, 30, 30, noise % 97 = 0, 30 - (noise % 97 = 0),
    20 + noise % 50 / 10, 19 + noise % 30 / 10, 20 + noise % 40 / 10, 22 + noise % 50 / 10,
    15 + noise % 20 / 10, 1 + noise % 10 / 10, 40 + noise % 900 / 10
FROM
(
    SELECT
        number, sipHash64(number % {paths:UInt32}) % 64 AS src,
        (src + 1 + number % 31) % 64 AS dst, sipHash64(number, 1) AS noise
    FROM numbers({first:UInt64}, {rows:UInt64})
)

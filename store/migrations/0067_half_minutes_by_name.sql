-- Writer: streams.sink, through path_half_minutes_writer.  Readers: the api, of one rnic or host.
-- A granule has few paths, so that most are skipped for a name that few paths have. Parts of before get it when they are merged.
ALTER TABLE path_half_minutes
ADD INDEX IF NOT EXISTS from_rnic src_real_ip TYPE bloom_filter(0.01) GRANULARITY 1,
ADD INDEX IF NOT EXISTS to_rnic dst_real_ip TYPE bloom_filter(0.01) GRANULARITY 1,
ADD INDEX IF NOT EXISTS from_host src_node_sn TYPE bloom_filter(0.01) GRANULARITY 1,
ADD INDEX IF NOT EXISTS to_host dst_node_sn TYPE bloom_filter(0.01) GRANULARITY 1

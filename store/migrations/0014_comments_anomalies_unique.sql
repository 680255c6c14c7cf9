-- Writer: none.  Readers: people in SQL, Grafana.
-- What the table and its columns are, where they can be asked for.
ALTER TABLE anomalies_unique
    COMMENT COLUMN fabric 'the network that the component or path is in',
    COMMENT COLUMN path_id 'as in pings and path_windows; 16 hex digits in the JSON document',
    COMMENT COLUMN layer 'overlay | underlay; of incidents also host, agent, pipeline',
    COMMENT COLUMN symptom 'loss | unconnectivity | high_latency | agent_down | host_down | ...',
    COMMENT COLUMN src_node_sn 'source: host serial number',
    COMMENT COLUMN src_real_ip 'source: address of the host''s rnic',
    COMMENT COLUMN src_ip 'source: address of the container''s endpoint',
    COMMENT COLUMN dst_node_sn 'destination: host serial number',
    COMMENT COLUMN dst_real_ip 'destination: address of the host''s rnic',
    COMMENT COLUMN dst_ip 'destination: address of the container''s endpoint',
    COMMENT COLUMN src_port 'source port of the five-tuple',
    COMMENT COLUMN dst_port 'destination port of the five-tuple',
    COMMENT COLUMN window_start 'begin of the bad time, event time',
    COMMENT COLUMN window_end 'its end',
    COMMENT COLUMN sent 'probes',
    COMMENT COLUMN lost 'probes',
    COMMENT COLUMN loss_rate '0..1',
    COMMENT COLUMN latency_excess_us 'against the past of the path itself',
    COMMENT COLUMN incident_id 'empty when no incident came of it',
    COMMENT COLUMN ingested_at 'when the sink stored it; retention counts from here',
    MODIFY COMMENT 'each bad path and time once, however often its message was replayed'

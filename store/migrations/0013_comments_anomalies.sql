-- Writer: none.  Readers: people in SQL, Grafana.
-- What the table and its columns are, where they can be asked for.
ALTER TABLE anomalies
    COMMENT COLUMN fabric 'the network that the component or path is in',
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
    MODIFY COMMENT 'paths that were bad when something was decided; read anomalies_unique'

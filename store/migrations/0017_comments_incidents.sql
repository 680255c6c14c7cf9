-- Writer: none.  Readers: people in SQL, Grafana.
-- What the table and its columns are, where they can be asked for.
ALTER TABLE incidents
    COMMENT COLUMN incident_id 'the same for all versions',
    COMMENT COLUMN version 'rises with each change',
    COMMENT COLUMN state 'open | ongoing | resolved',
    COMMENT COLUMN fabric 'the network that the component or path is in',
    COMMENT COLUMN component 'the component to blame: kind:name',
    COMMENT COLUMN kind 'of the component: rnic | tor | agg | spine | link | vswitch | host | container | agent | pod | fabric | pipeline',
    COMMENT COLUMN layer 'overlay | underlay; of incidents also host, agent, pipeline',
    COMMENT COLUMN symptom 'loss | unconnectivity | high_latency | agent_down | host_down | ...',
    COMMENT COLUMN direction 'both, or the direction of a link that is bad',
    COMMENT COLUMN updated_at 'of this version, event time',
    COMMENT COLUMN severity 'P0 | P1 | P2',
    COMMENT COLUMN confidence 'probability that the component is right, 0..1',
    COMMENT COLUMN p_value 'of the evidence, if nothing were wrong',
    COMMENT COLUMN paths_bad 'bad five-tuple paths that the component explains',
    COMMENT COLUMN paths_total 'five-tuple paths that cross it',
    COMMENT COLUMN jobs 'training jobs that it affects',
    COMMENT COLUMN tenants 'tenants that it affects',
    COMMENT COLUMN strategy 'that named the component',
    MODIFY COMMENT 'one row for each version of an incident; the newest of each is in incidents_latest'

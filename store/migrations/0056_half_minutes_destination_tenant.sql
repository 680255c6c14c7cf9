-- Writer: streams.sink, through path_half_minutes_writer.  Readers: path_minutes, component_health; row filters of tenants.
-- As in path_windows.
ALTER TABLE path_half_minutes
    ADD COLUMN IF NOT EXISTS dst_tenant_id LowCardinality(String)
    COMMENT 'destination: tenant of the container; empty where it was not stored' AFTER src_tenant_id

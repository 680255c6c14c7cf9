-- Writer: streams.sink (skh.windows, kind=window).  Readers: as of path_windows; row filters of tenants.
-- A path may lead from one tenant to another: a row is a tenant's only if both of its ends are. Rows
-- from before, and those of a sink or worker of an earlier release, have none, and are no tenant's.
ALTER TABLE path_windows
    ADD COLUMN IF NOT EXISTS dst_tenant_id LowCardinality(String)
    COMMENT 'destination: tenant of the container; empty where it was not stored' AFTER src_tenant_id

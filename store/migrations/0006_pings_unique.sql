-- Writer: none (view of pings).  Readers: people in SQL, Grafana.
-- Each record once however often its message was replayed, with latency in us and extra_stats.
CREATE VIEW IF NOT EXISTS pings_unique AS
SELECT *, latency, extra_stats FROM pings FINAL

-- Writer: none (view of anomalies).  Readers: people in SQL, Grafana.
-- Each anomaly once however often its message was replayed.
CREATE VIEW IF NOT EXISTS anomalies_unique AS
SELECT * FROM anomalies FINAL

-- Writer: none (view of path_windows).  Readers: people in SQL, Grafana, the api.
-- Each window once, in the version that has seen most records.
CREATE VIEW IF NOT EXISTS path_windows_latest AS
SELECT * FROM path_windows FINAL

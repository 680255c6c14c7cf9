-- Writer: none (view of incidents).  Readers: the api, people in SQL, Grafana.
-- The last version of each incident: what is believed now.
CREATE VIEW IF NOT EXISTS incidents_latest AS
SELECT *, evidence, explanation
FROM incidents
FINAL
ORDER BY version DESC
LIMIT 1 BY incident_id

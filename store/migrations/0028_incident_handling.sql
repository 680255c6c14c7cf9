-- Writer: none (view of incident_actions).  Readers: the api, people in SQL, Grafana.
-- What people made of each incident that has any action.
CREATE VIEW IF NOT EXISTS incident_handling
(
    incident_id String COMMENT 'as in incidents',
    status String COMMENT 'new (reopened, or only noted) | acknowledged | resolved',
    by String COMMENT 'who set the status; empty while it is new and was never reopened',
    since Nullable(DateTime64(6, 'UTC')) COMMENT 'when the status was set',
    assignee String COMMENT 'the last one; empty when none',
    verdict String COMMENT 'of the last feedback: right | wrong_component | false_alarm; empty when none',
    verdict_by String COMMENT 'who gave it',
    actions UInt64 COMMENT 'all actions on the incident, notes included'
)
AS SELECT
    incident_id,
    transform(argMaxIf(kind, (at, key), sets_status), ['acknowledge', 'resolve'],
              ['acknowledged', 'resolved'], 'new') AS status,
    argMaxIf(actor, (at, key), sets_status) AS by,
    maxOrNullIf(at, sets_status) AS since,
    argMaxIf(a.assignee, (at, key), kind = 'assign') AS assignee,
    argMaxIf(a.verdict, (at, key), kind = 'feedback') AS verdict,
    argMaxIf(actor, (at, key), kind = 'feedback') AS verdict_by,
    count() AS actions
FROM (SELECT *, kind IN ('acknowledge', 'resolve', 'reopen') AS sets_status FROM incident_actions FINAL) AS a
GROUP BY incident_id
COMMENT 'what people made of an incident: status, assignee, verdict'

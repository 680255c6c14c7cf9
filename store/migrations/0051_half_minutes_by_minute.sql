-- Writer: streams.sink, through path_half_minutes_writer.  Readers: path_minutes, component_health and job_path_minutes.
-- These views show minutes, which the sorting key (hours) does not recognise in a condition: every question read the whole year.
ALTER TABLE path_half_minutes
ADD INDEX IF NOT EXISTS by_minute toStartOfMinute(window_start) TYPE minmax GRANULARITY 1

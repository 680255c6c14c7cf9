-- blocking: reads one column of the parts that exist, in the background, and leaves their data as they are
-- Writer: streams.sink, through path_half_minutes_writer.  Readers: path_minutes, component_health and job_path_minutes.
ALTER TABLE path_half_minutes
MATERIALIZE INDEX by_minute

-- Writer: streams.sink, through path_half_minutes_writer.  Readers: the api (components of a kind).
-- With the quartiles the api compares all components from half minutes, a sixth of path_windows. Rows that exist have NULL.
ALTER TABLE path_half_minutes
    ADD COLUMN IF NOT EXISTS rtt_p25_us Nullable(Float32) COMMENT 'first quartile of round trips [us]' AFTER rtt_mean_us,
    ADD COLUMN IF NOT EXISTS rtt_p75_us Nullable(Float32) COMMENT 'third quartile of round trips [us]' AFTER rtt_p50_us

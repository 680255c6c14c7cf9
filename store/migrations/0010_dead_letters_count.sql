-- Writer: streams.sink.  Readers: people in SQL.
-- A message with many bad records has a row for each of the first of them and one for all others:
-- sum(count) is the number of records that could not be used.
ALTER TABLE dead_letters
ADD COLUMN IF NOT EXISTS count UInt64 DEFAULT 1 COMMENT 'records that this row speaks of'
AFTER column

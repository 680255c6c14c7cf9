-- Writer: none.  Readers: people in SQL, Grafana.
-- What the table and its columns are, where they can be asked for.
ALTER TABLE pings
    MODIFY COMMENT 'one row for each ping record; read pings_unique'

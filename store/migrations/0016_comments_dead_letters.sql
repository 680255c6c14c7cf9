-- Writer: none.  Readers: people in SQL, Grafana.
-- What the table and its columns are, where they can be asked for.
ALTER TABLE dead_letters
    COMMENT COLUMN partition 'of the topic',
    COMMENT COLUMN offset 'of the message in its partition',
    MODIFY COMMENT 'messages and records that could not be used, with the reason; read with FINAL'

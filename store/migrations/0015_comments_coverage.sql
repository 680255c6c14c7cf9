-- Writer: none.  Readers: people in SQL, Grafana.
-- What the table and its columns are, where they can be asked for.
ALTER TABLE coverage
    COMMENT COLUMN fabric 'the network that the component or path is in',
    MODIFY COMMENT 'what the judged probes of a fabric crossed of its topology, once a minute; read with FINAL'

-- The containers of the 16 jobs of fill_windows, each with the rnics of its host.
INSERT INTO placement (fabric, node_id, valid_from, node_sn, state, job, tenant, rnics)
SELECT
    'bench', concat('job-', toString(number % 16), '-', toString(number)), {start:UInt32},
    concat('host-', toString(number)), 'ready', concat('job-', toString(number % 16)), 'tenant',
    arrayMap(rail -> concat('10.0.', toString(number), '.', toString(rail)), range(8))
FROM numbers(64)

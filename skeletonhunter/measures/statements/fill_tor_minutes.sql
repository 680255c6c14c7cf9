-- A minute of each pair of ToRs.
INSERT INTO tor_minutes
SELECT
    toDateTime({start:UInt32} + 60 * intDiv(number, {pairs:UInt32}), 'UTC') AS minute,
    'bench', 'underlay', concat('asw-', toString(number % {tors:UInt32})),
    concat('asw-', toString(intDiv(number, {tors:UInt32}) % {tors:UInt32})), 'p', 'p',
    240, sipHash64(number) % 50 = 0, 0,
    quantilesTDigestWeightedState(0.5, 0.99)(
        toFloat32(20 + sipHash64(number) % 100 / 10), toUInt32(240)),
    60, minute
FROM numbers({first:UInt64}, {rows:UInt64})
GROUP BY number

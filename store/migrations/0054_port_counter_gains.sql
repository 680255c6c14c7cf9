-- Writer: none (view of port_counters).  Readers: people in SQL, Grafana.
-- Kinds are those that verdicts go by (localizer.host_evidence.port_signs), and what RDMA transports count. A counter that fell was
-- reset, and has gained what it shows; one that wrapped is taken for that too. States are no counts.
CREATE VIEW IF NOT EXISTS port_counter_gains
(
    fabric LowCardinality(String) COMMENT 'the network that the host is in',
    node_sn LowCardinality(String) COMMENT 'host serial number',
    rnic LowCardinality(String) COMMENT 'address of the rnic whose port it is; empty: of none that the agent probes from',
    component String COMMENT 'rnic:address, as in incidents and component_health; empty without an rnic',
    device LowCardinality(String) COMMENT 'port of an RDMA device, as mlx5_0/1, or network interface',
    counter LowCardinality(String) COMMENT 'name of the counter, as the kernel or the driver has it',
    kind String COMMENT 'damaged (CRC, symbol errors) | link_down | dropped | unsent | mark (ECN, CNP) | pause | transport (out of sequence, retransmissions) | other',
    since DateTime64(3, 'UTC') COMMENT 'when it was read before, by the clock of the host',
    until DateTime64(3, 'UTC') COMMENT 'when it was read',
    gained Int64 COMMENT 'what it counted between the two, more than 0',
    incident_id String COMMENT 'incident that the later reading was about; empty: none'
)
AS SELECT
    fabric, node_sn, rnic,
    if(rnic = '', '', concat('rnic:', replaceAll(replaceAll(rnic, '%', '%25'), '|', '%7C'))) AS component,
    device, counter,
    multiIf(
        counter IN ('symbol_error', 'rx_crc_errors', 'rx_crc_errors_phy', 'rx_symbol_err_phy', 'rx_frame_errors',
                    'rx_fcs_errors', 'rx_align_errors', 'rx_pcs_symbol_err_phy', 'rx_err_lane_0_phy',
                    'rx_err_lane_1_phy', 'rx_err_lane_2_phy', 'rx_err_lane_3_phy'), 'damaged',
        counter IN ('link_down_events_phy', 'link_downed', 'carrier_down_count'), 'link_down',
        counter IN ('out_of_buffer', 'rx_out_of_buffer', 'rx_missed_errors', 'rx_fifo_errors', 'rx_over_errors',
                    'rx_no_buffer_count', 'rx_discards_phy'), 'dropped',
        counter IN ('tx_errors', 'tx_errors_phy', 'tx_aborted_errors', 'tx_fifo_errors', 'tx_carrier_errors',
                    'port_xmit_discards', 'tx_discards_phy'), 'unsent',
        counter IN ('np_ecn_marked_roce_packets', 'np_cnp_sent', 'rp_cnp_handled'), 'mark',
        match(counter, '^(rx_(prio\\d_pause|pause_ctrl_phy|pause|prio\\d_pause_duration))$'), 'pause',
        counter IN ('out_of_sequence', 'packet_seq_err', 'implied_nak_seq_err', 'local_ack_timeout_err',
                    'rnr_nak_retry_err', 'roce_adp_retrans', 'roce_slow_restart'), 'transport',
        'other') AS kind,
    assumeNotNull(before_time) AS since,
    time AS until,
    if(value >= before_value, value - before_value, value) AS gained,
    incident_id
FROM
(
    SELECT
        *,
        lagInFrame(toNullable(time), 1, NULL) OVER readings AS before_time,
        lagInFrame(value, 1, 0) OVER readings AS before_value
    FROM port_counters FINAL
    WHERE counter NOT IN ('device_present', 'address_present', 'admin_up', 'carrier', 'port_state', 'phys_state',
                          'bond_ports_up')
    WINDOW readings AS (PARTITION BY fabric, node_sn, device, counter ORDER BY time
                        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
WHERE before_time IS NOT NULL AND gained > 0
COMMENT 'what counters of ports counted between two readings, where they counted'

"""What counters and flow tables of hosts say about an incident that probes leave open. No I/O.

In: evidence documents of the requests of an incident, and what its verdict says. Out: a finding:
the component among its tie set, its issue type, and the counter or rule that decided.

collected     evidence by incident; start reading here
port_signs    two readings of a port's counters -> what they show; port_rules: -> a finding
printed/      text of commands -> typed flows; flow_match, flow_addresses, flow_actions: one rule
memory/       huge pages that a host wants and lacks -> a finding
forwarding    the chain of vSwitches, walked
offloading    the vSwitch's datapath against the rnic's table; flow_rules: both -> a finding

``explanation.refined`` puts a finding into an incident document.
"""

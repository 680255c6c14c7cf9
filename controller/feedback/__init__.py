"""Open incidents -> requests to agents that tell the members of their tie sets apart. Pure.

crossings  which members of a tie set a five-tuple crosses, with which probability
choice     the five-tuples that split a tie set most, greedily
rounds     requests of one round: probes, traceroutes, counters, flow tables
feedback   which incident gets a round, budgets, and when it ends
suspects   anomalous five-tuples: a closer look at each, bounded
"""

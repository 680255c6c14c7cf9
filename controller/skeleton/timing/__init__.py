"""How much later than others hosts and rnics are, and which groups of hosts differ in that.

``shifts`` by their bursts, ``round_ends`` by the ends of their rounds. Pure.
"""

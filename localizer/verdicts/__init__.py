"""The rules: the state of a fabric at the end of a second -> verdicts.

In: ``FabricState``. Out: frozen, typed verdicts; what a rule decides besides is in its decision.
Start with ``second.py`` (the order of the rules), then ``attribute.py`` (from alarm to verdict).
"""

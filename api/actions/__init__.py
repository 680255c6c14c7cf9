"""What people do about incidents: acknowledge, assign, note, resolve, reopen, say who was right.

Start in ``routes``; ``documents`` are the bodies, ``queries`` keeps actions in ClickHouse's table
incident_actions, ``feedback`` makes precision in production of them. What the localizer says of an
incident never changes by an action.
"""

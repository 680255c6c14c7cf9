"""The mathematics, pure: evidence in, verdicts and incidents out.

``incidence`` places paths on the fabric; ``observability`` says what probes cannot tell apart;
``detectors/`` decide that something is wrong under an alarm budget; ``strategies/`` say what is to
blame; ``incidents`` keeps the life cycle; ``engine`` runs them over the messages of skh.windows.
Nothing here reads a clock, a socket or a file.
"""

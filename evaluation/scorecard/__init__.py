"""The scorecard: every strategy on the published settings, the whole pipeline on every scenario.

``plan`` says which trials, with which seeds; ``path_trials`` and ``pipeline_trials`` run one each;
``runner`` runs them all on several cores and keeps a journal; ``records`` is what a trial came to,
as JSON lines; ``intervals`` and ``summary`` make figures of records; ``render`` and ``plots`` make
docs/scorecard.md of figures, without running anything.
"""

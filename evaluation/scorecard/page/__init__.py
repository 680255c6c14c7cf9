"""evaluation.scorecard.page."""

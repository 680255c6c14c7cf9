"""evaluation.scorecard.trials."""

"""Estimators from samples: designs, budgets, regressions, control variates and standard errors."""

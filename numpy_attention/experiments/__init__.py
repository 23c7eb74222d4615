"""Recorded experiments: runs, recipes, and the analysis of trained models."""

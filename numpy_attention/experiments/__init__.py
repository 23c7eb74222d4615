"""Recorded experiments: runs, recipes, and analyses of trained models."""

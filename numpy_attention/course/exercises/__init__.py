"""Exercises: one file each, cut from a plain form, and a check that says which mistake was made.

    numpy-attention exercise start softmax      writes exercises/softmax.py
    numpy-attention exercise check softmax      stops at the first stage that fails, and says why
"""

"""Exercises made from reference implementations, and a check that names the mistake.

    numpy-attention exercise start softmax      writes exercises/softmax.py
    numpy-attention exercise check softmax      reports the first error in that file
"""

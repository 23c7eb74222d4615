"""Planted mistakes: what people get wrong when they derive a backward pass by hand.

    right/          mechanisms as a learner writes them, each correct, with a case(rng)
    known.py        mistakes in them by which a tool that diagnoses may be tuned
    kept_out.py     mistakes by which it is judged
    fresh.py        mistakes in further mechanisms, written without the tool
    fourth.py       mistakes in six more mechanisms, written by somebody who had seen no report
    planting.py     Mistake, and plant(mistake) → module
    exam.py         what the gradient check says first of each
"""

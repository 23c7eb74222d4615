"""Mechanisms of a reader's own: a file that is run only where its user names it, and its classes.

    bilinear = own_class("mine.py:Bilinear")            runs mine.py
    Translator.create(pairs, "luong", {"attention": bilinear})

A run keeps such a class by its name, with the digest of its file. The class comes from whoever
loads the run: Translator.load(folder, code=["mine.py"]).
"""

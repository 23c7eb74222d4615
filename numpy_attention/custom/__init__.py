"""User-defined mechanisms: a file that is run only when its user names it, and its classes.

    bilinear = custom_class("mine.py:Bilinear")         runs mine.py
    Translator.create(pairs, "luong", {"attention": bilinear})

A run keeps such a class by its name, with the digest of its file. Whoever loads the run brings the
class: Translator.load(folder, code=["mine.py"]).
"""

"""User-defined mechanisms: a file that is run only when its user names it, and its classes.

    bilinear = custom_class("mine.py:Bilinear")         runs mine.py
    Translator.create(pairs, "luong", {"attention": bilinear})

A run stores the name of such a class and the digest of its file. To load the run, pass the file:
Translator.load(folder, code=["mine.py"]).
"""

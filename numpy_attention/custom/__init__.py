"""User-defined mechanisms: classes in a Python file, which runs only if the user names the file.

    bilinear = custom_class("mine.py:Bilinear")         runs mine.py
    Translator.create(pairs, "luong", {"attention": bilinear})

A run stores the name of such a class and the digest of its file. To load the run, pass the file:
Translator.load(folder, code=["mine.py"]).
"""

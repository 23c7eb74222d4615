"""What `tools/build_site.py` makes the pages of the site from: lessons, sources, docs.

    lessons      runs lessons, keeps what they gave, and makes notebooks with answers of them
    links        from a file of the checkout to its page
    docstrings   plain docstrings as reStructuredText, layouts kept
    mathml       equations of docstrings and lessons as MathML
    mechanisms   equations, and the lines forward and backward that compute them
    sources      the package and what texts link to, as highlighted pages
    subpackages  the map of the package, drawn from the imports
    staging      all of it, as one folder for Sphinx
"""

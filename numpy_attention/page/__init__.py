"""A trained model as one HTML file in which it runs, in the reader's browser.

`export` turns a run into a dict that JSON can hold. `write` puts it into a page with `engine/`,
JavaScript that computes what the Python forward passes compute, one mechanism per file.
"""

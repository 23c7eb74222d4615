"""A trained model as one HTML file, which runs the model in the browser.

`export` converts a run to a dict that JSON can represent. `write` puts this dict into a page with
the JavaScript in `engine/`, which computes the same forward passes as the Python code. The engine
has one file for each mechanism.
"""

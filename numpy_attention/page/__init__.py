"""A trained model as one HTML file, which runs the model in the browser.

`export` converts a run to a dict that JSON can represent. `write` puts it into a page with
`engine/`, JavaScript that computes what the Python forward passes compute, one mechanism per file.
"""

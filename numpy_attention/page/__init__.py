"""A trained model as one HTML file, which runs the model in the browser.

`export` converts a run to a dict that JSON can represent. `write` puts this dict into a page,
together with the JavaScript in `engine/`. Each file of `engine/` computes the forward pass of one
mechanism.
"""

"""A trained model as one HTML file in which it runs, in the reader's browser.

`export` makes a run a dict that JSON can hold, `write` puts it into a page with the engine, the
JavaScript of `engine/`, a mechanism a file, that computes what the Python forward passes compute;
`table` draws a heatmap as a table of HTML, for readers without JavaScript and for notebooks.
"""

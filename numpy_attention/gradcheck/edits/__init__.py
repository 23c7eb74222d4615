"""Small edits of statements, tried to see which edit makes the gradients correct."""

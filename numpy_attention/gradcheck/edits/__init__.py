"""Small edits of statements, tried to see which one makes the gradients correct."""

"""Beam search over any function that says how likely each next word is."""


def beam(next_log_p, end, width, longest):
    """next_log_p(words) → log p (V,) of the word after a tuple of words → [(words, log p)].

    The hypotheses that have ended, with the word `end` or with `longest` words, the most probable
    first; at most `width` in all.
    """
    running = [((), 0.0)]
    ended = []
    while running:
        found = []
        for words, total in running:
            log_p = next_log_p(words)
            for word in range(len(log_p)):
                found.append(((*words, word), total + log_p[word]))
        found.sort(key=lambda one: -one[1])
        kept = found[:width - len(ended)]           # what has ended holds its place
        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]
        running = [one for one in kept if one[0][-1] != end and len(one[0]) < longest]
    ended.sort(key=lambda one: -one[1])
    return ended

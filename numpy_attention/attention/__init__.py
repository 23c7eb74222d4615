"""Attention mechanisms.

    memory                  = attention.read(values, mask)             once a sentence: projects the keys
    context, weights, cache = attention.step(query, memory)            once a target word: score → softmax → weighted sum
    dquery                  = attention.step_backward(dcontext, dweights, cache, dmemory, grad)
    dvalues                 = attention.read_backward(memory, dmemory, grad)     the large products, once

dmemory = memory.gradient(); dweights may be None where nothing but the context was used. An attention with `positional = True`
takes the number of the target word, from 0, as a third argument of `step`; `memory.look` calls either kind.
"""

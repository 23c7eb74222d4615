"""Exercise encoder-layer: a residual connection has two gradients."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead

LESSON = "09_transformer"


def cases(rng, its):
    D, F, width = 6, 7, 3
    for T in (5, 4):
        def norm():
            return its.PlainNorm(*rng.standard_normal((2, D)))

        def drawn(*shapes):
            return [rng.standard_normal(shape) / 2 for shape in shapes]

        heads = [its.PlainHead(*drawn((D, width), width, (D, width), (D, width), width, (width, D)))
                 for _ in range(2)]
        layer = its.PlainEncoderLayer(
            its.PlainHeads(heads, *drawn(D)), norm(),
            its.PlainFeedForward(*drawn((D, F), F, (F, D), D)), norm())
        visible = rng.random((T, T)) < 0.7
        visible[:, 0] = True                        # every word sees something
        yield Case(layer.forward, (rng.standard_normal((T, D)), visible),
                   lambda dz, cache, grads, layer=layer: (layer.backward(dz, cache, grads), None),
                   layer)


EXERCISE = Exercise(
    "encoder-layer", "a residual connection has two gradients", LESSON, position=5,
    needs=("layer-norm", "multi-head"),
    source=Source(f"transformer_parts {LESSON}", (
        "softmax", "PlainNorm", "PlainHead", "attend", "attend_backward", "PlainHeads",
        "PlainFeedForward", "PlainEncoderLayer")),
    blanks=("PlainEncoderLayer.forward", "PlainEncoderLayer.backward"), cases=cases,
    text="""
    y = LN_1(x + heads(x, x))          (T, d_model)
    z = LN_2(y + FF(y))                (T, d_model)

Vaswani et al. 2017, section 3.1, with the norm after each sum (post-norm). All parts are there,
each with `forward` and `backward`; `visible` (T, T) is for the heads. Write the layer: its
forward returns z and a cache; its backward is given ∂L/∂z, calls the parts' backward passes with
their share of `grads` (grads.norm_1, …), and returns ∂L/∂x.
""",
    hints=(
        "In self-attention x gives the queries as well as the keys and values. So how many terms "
        "has ∂L/∂x?",
        "A sum x + f(x) hands its gradient on twice: to x unchanged, and through f.",
        "dsum = the gradient in front of LN_1; dx = dsum + (both gradients that "
        "attention.backward returns)"),
    why=("The gradient of a sum goes to both of its terms. A residual connection hands it down "
         "unchanged, whatever the part does with its copy."),
    unseen="A layer without a residual connection has right gradients, and learns badly.",
    mistakes=(
        *instead("return dsum + dx_q + dx_kv", "return dsum + dx_q + dx_kv",
                 ("return dsum + dx_q", "you left out the gradient through keys and values; dx has "
                  "three terms, because x is query, key and value"),
                 ("return dsum + dx_kv", "you left out the gradient through the queries; dx has "
                  "three terms, because x is query, key and value"),
                 ("return dx_q + dx_kv", "you left out the residual connection past the heads; "
                  "dsum should be added, because x itself is in the sum"),
                 ("return dy + dx_q + dx_kv", "you passed on ∂L/∂y past the heads; it should be "
                  "the gradient in front of LN_1, because x is in that sum")),
        ("dy = dsum + self.feed_forward.backward(", "dy = self.feed_forward.backward(",
         "you left out the residual connection past the feed-forward part; dsum should be added, "
         "because y itself is in the sum"),
        ("dy = dsum + self.feed_forward.backward(dsum",
         "dr = dsum\n        dy = self.feed_forward.backward(dr",
         "you left out the residual connection past the feed-forward part; dsum should be added, "
         "because y itself is in the sum"),
        ("self.feed_forward.backward(dsum, fed", "self.feed_forward.backward(dz, fed",
         "you gave the feed-forward part ∂L/∂z; it should be the gradient in front of LN_2, "
         "because the norm comes after the sum"),
        ("self.attention.backward(dsum, looked", "self.attention.backward(dy, looked",
         "you gave the heads ∂L/∂y; it should be the gradient in front of LN_1, because the norm "
         "comes after the sum"),
        ("self.norm_1.forward(x + found)", "self.norm_1.forward(x)", "you left out heads(x, x) "
         "before LN_1; it should be x + heads(x, x), because the heads' output is added to x"),
        ("self.norm_2.forward(y + added)", "self.norm_2.forward(y)", "you left out FF(y) before "
         "LN_2; it should be y + FF(y), because that part's output is added to y"),
        ("self.norm_1.forward(x + found)", "self.norm_1.forward(found)", "you left out x before "
         "LN_1; it should be x + heads(x, x), because the connection is residual"),
        ("self.norm_2.forward(y + added)", "self.norm_2.forward(x + added)",
         "you added x to the feed-forward part; it should be y, because y is what that part reads"),
        ("self.attention.forward(x, x, visible)", "self.attention.forward(x, x, True)", "you left "
         "out the mask; it should go to the heads, because padding is not to be attended to"),
        ("dy = dsum + self", "dy = dz + self", "you passed on ∂L/∂z past the feed-forward part; it "
         "should be the gradient in front of LN_2, because y is in that sum"),
        ("        dy = dsum + self.feed_forward.backward(dsum, fed, grads.feed_forward)\n"
         "        dsum = self.norm_1.backward(dy, normed_1, grads.norm_1)\n"
         "        dx_q, dx_kv = self.attention.backward(dsum, looked, grads.attention)\n"
         "        return dsum + dx_q + dx_kv",
         "        dy = self.feed_forward.backward(dsum, fed, grads.feed_forward)\n"
         "        dsum = self.norm_1.backward(dy, normed_1, grads.norm_1)\n"
         "        dx_q, dx_kv = self.attention.backward(dsum, looked, grads.attention)\n"
         "        return dx_q + dx_kv", "you left out both residual connections; each sum should "
         "pass its gradient on unchanged, too, because x and y are in it"),
        ("self.norm_1.backward(dy, normed_1", "self.norm_1.backward(dsum, normed_1", "you gave "
         "LN_1 the gradient in front of LN_2; it should be ∂L/∂y, because y is what LN_1 returned"),
        ("(dz, normed_2, grads.norm_2)", "(dz, normed_2, grads.norm_1)", "you gave norm_2 the "
         "grads of norm_1; each part should have its own, because each has its own g and b"),
        ("(dz, normed_2, grads.norm_2)", "(dz, normed_1, grads.norm_2)", "you gave norm_2 the "
         "cache of norm_1; it should be that of its own forward, because x̂ and s are in it"),
        ("self.norm_2.forward(y + added)", "self.norm_1.forward(y + added)", "you used norm_1 "
         "twice; the second norm should be norm_2, because each has its own g and b"),
        ("self.norm_2.forward(y + added)", "self.norm_2.forward(added)",
         "you left out y before LN_2; it should be y + FF(y), because the connection is residual"),
        ("self.feed_forward.forward(y)", "self.feed_forward.forward(x)",
         "you gave the feed-forward part x; it should read y, because it comes after the heads"),
        ("self.attention.forward(x, x, visible)", "self.attention.forward(x, x, visible.T)",
         "you transposed the mask; it should be as it is, because row t of visible is what word "
         "t may see"),
        ("    def backward(self, dz, cache, grads):\n",
         "    def forward(self, x, visible=True):\n"
         "        normed, normed_1 = self.norm_1.forward(x)\n"
         "        found, looked = self.attention.forward(normed, normed, visible)\n"
         "        normed, normed_2 = self.norm_2.forward(x + found)\n"
         "        added, fed = self.feed_forward.forward(normed)\n"
         "        return x + found + added, (looked, normed_1, fed, normed_2)\n\n"
         "    def backward(self, dz, cache, grads):\n"
         "        looked, normed_1, fed, normed_2 = cache\n"
         "        dy = self.feed_forward.backward(dz, fed, grads.feed_forward)\n"
         "        dy = dz + self.norm_2.backward(dy, normed_2, grads.norm_2)\n"
         "        dx = sum(self.attention.backward(dy, looked, grads.attention))\n"
         "        return dy + self.norm_1.backward(dx, normed_1, grads.norm_1)\n\n"
         "    def other(self, dz, cache, grads):\n",
         "you put the norms before the parts (pre-norm); they should come after each sum, "
         "because z = LN_2(y + FF(y))")))

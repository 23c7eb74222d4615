// The Transformer (Vaswani et al. 2017): attention instead of recurrence.

"use strict";

// x̂ = (x − μ) / √(σ² + ε),  y = g ∘ x̂ + b
class LayerNorm extends Module {
  forward(x) {
    const D = x.length;
    const mean = Math.fround(x.reduce((total, x_d) => total + x_d, 0) / D);
    const centred = x.map((x_d) => x_d - mean);
    const variance = centred.reduce((total, x_d) => total + x_d * x_d, 0) / D;
    const scale = Math.fround(1 / Math.sqrt(variance + this.epsilon));
    return centred.map((x_d, d) => this.g[d] * Math.fround(x_d * scale) + this.b[d]);
  }
}

// y = LayerNorm(x + f(x))        post-norm
// y = x + f(LayerNorm(x))        pre_norm
class Residual extends Module {
  around(x, f) {
    const fx = f(this.pre_norm ? this.norm.forward(x) : x);
    const y = sum(x, fx);
    return this.pre_norm ? y : this.norm.forward(y);
  }
}

// y = x W + b
class Linear extends Module {
  forward(x) {
    return sum(product(x, this.W), this.b);
  }
}

// FFN(x) = max(0, x W_1 + b_1) W_2 + b_2
class FeedForward extends Module {
  forward(x) {
    return this.outer.forward(this.inner.forward(x).map((a) => Math.max(0, a)));
  }
}

// x → self-attention → feed-forward, at every position of the source
class EncoderLayer extends Module {
  forward(xs) {
    const { norm, pre_norm: pre } = this.around_attention;
    const inside = pre ? xs.map((x) => norm.forward(x)) : xs;
    const keysAndValues = this.attention.keysAndValues(inside);
    return xs.map((x) => {
      const attend = (query) => this.attention.attend(query, keysAndValues, null).context;
      const y = this.around_attention.around(x, attend);
      return this.around_feed_forward.around(y, (z) => this.feed_forward.forward(z));
    });
  }
}

// y → self-attention over the words written so far → attention over the source → feed-forward
//
// written: keys and values of earlier positions. source: those of the source. given: weights for
// the attention over the source, as in MultiHeadAttention.
class DecoderLayer extends Module {
  step(y, written, source, given) {
    let after;
    y = this.around_attention.around(y, (query) => {
      after = [...written, ...this.attention.keysAndValues([query])];
      return this.attention.attend(query, after, null).context;
    });
    let attended;
    let query;
    y = this.around_source.around(y, (inside) => {
      query = inside;
      attended = this.source_attention.attend(inside, source, null, given);
      return attended.context;
    });
    y = this.around_feed_forward.around(y, (inside) => this.feed_forward.forward(inside));
    return { y, written: after, attended, query };
  }
}

// PE(p, 2i) = sin(p / 10000^(2i / D)),  PE(p, 2i + 1) = cos(p / 10000^(2i / D))   → (D,)
function positionalEncoding(p, D) {
  return Float32Array.from({ length: D }, (_, d) => {
    const angle = p / 10000 ** ((d - d % 2) / D);
    return d % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

//   x_p = √D E w_p + PE(p)
//   memory = encoder layers(x);  v = decoder layers(√D E y_{t−1} + PE(t), memory)
//   p(y_t) = softmax(W_o v + b)
//
// With pre_norm, both are normalized once more after the last layer. The weights are those of the
// last decoder layer over the source, one (S,) per head; given weights replace these.
class Transformer extends Module {
  embed(embedding, id, p) {
    const row = embedding.forward(id);
    const root = Math.fround(Math.sqrt(row.length));
    return sum(row.map((e) => e * root), positionalEncoding(p, row.length));
  }

  encode(ids) {
    let xs = ids.map((id, p) => this.embed(this.source_embedding, id, p));
    for (const layer of this.encoder) xs = layer.forward(xs);
    if (this.encoder_norm !== null) xs = xs.map((x) => this.encoder_norm.forward(x));
    const sources = this.decoder.map((layer) => layer.source_attention.keysAndValues(xs));
    return { annotations: xs, sources };
  }

  start() {
    return { written: this.decoder.map(() => []), t: 0 };
  }

  // Id of the previous word → log p of the next word, the attention, the new state.
  step({ sources }, state, previous, given = null) {
    const Ey = this.embed(this.target_embedding, previous, state.t);
    let v = Ey;
    const written = [];
    let last;
    this.decoder.forEach((layer, l) => {
      const top = l === this.decoder.length - 1;
      last = layer.step(v, state.written[l], sources[l], top ? given : null);
      v = last.y;
      written.push(last.written);
    });
    if (this.decoder_norm !== null) v = this.decoder_norm.forward(v);
    return {
      state: { written, t: state.t + 1 },
      logP: this.output.logProbabilities(v),
      ...last.attended,
      values: { Ey, query: last.query, context: last.attended.context, v },
    };
  }
}

Object.assign(KINDS, { LayerNorm, Residual, Linear, FeedForward, EncoderLayer, DecoderLayer,
                       Transformer });

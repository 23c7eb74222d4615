// Dot-product scores (Luong et al. 2015; Vaswani et al. 2017).

"use strict";

// e_j = q · h_j
class DotAttention extends SoftmaxAttention {
  score(query, memory) {
    return dotScores(query, memory.values);
  }
}

// e_j = (q W_a) · h_j
class GeneralAttention extends SoftmaxAttention {
  score(query, memory) {
    return dotScores(product(query, this.W_a), memory.values);
  }
}

// e_j = q · h_j / √D, or (q W_a) · h_j / √D for queries of another size
class ScaledDotAttention extends SoftmaxAttention {
  score(query, memory) {
    const projected = this.W_a === null ? query : product(query, this.W_a);
    const root = Math.fround(Math.sqrt(projected.length));
    return dotScores(projected.map((q) => q / root), memory.values);
  }
}

// e_j = q · h_j for each vector h_j
function dotScores(q, vectors) {
  return Float32Array.from(vectors, (h) => dot(h, q));
}

Object.assign(KINDS, { DotAttention, GeneralAttention, ScaledDotAttention });

// Layers between words and vectors: embedding, maxout, deep output and output layer.

"use strict";

// E[id].   E (V, E)
class Embedding extends Module {
  forward(id) {
    return this.E.row(id);
  }
}

// t_j = max(x_{2j}, x_{2j+1})
class Maxout extends Module {
  forward(x) {
    const t = new Float32Array(x.length / 2);
    for (let j = 0; j < t.length; j++) t[j] = Math.max(x[2 * j], x[2 * j + 1]);
    return t;
  }
}

// t = maxout(U_o s + V_o E y + C_o c + b)
class DeepOutput extends Module {
  forward(s, Ey, c) {
    const a = sum(product(s, this.U_o), product(Ey, this.V_o), product(c, this.C_o), this.b);
    return this.maxout.forward(a);
  }
}

// log p = log softmax(E x + b); E may be tied to the embedding
class Output extends Module {
  logProbabilities(x) {
    return logSoftmax(sum(rowsTimes(this.words.E, x), this.b));
  }
}

// dropout is active in training only
class Dropout extends Module {}

Object.assign(KINDS, { Embedding, Maxout, DeepOutput, Output, Dropout });

// Scores of positions alone (Luong et al. 2015, equation 8).

"use strict";

// e = q W_a, a column for each position: where to look, whatever stands there
class LocationAttention extends SoftmaxAttention {
  // the longest source that has columns, </s> included
  get longest() {
    return this.W_a.columns;
  }

  score(query, memory) {
    return product(query, this.W_a, memory.values.length);
  }
}

Object.assign(KINDS, { LocationAttention });

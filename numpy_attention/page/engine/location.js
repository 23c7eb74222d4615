// Location-based scores (Luong et al. 2015, equation 8).

"use strict";

// e = q W_a, one column per position: the scores do not depend on the words
class LocationAttention extends SoftmaxAttention {
  // The length of the longest source that W_a has columns for, including </s>.
  get longest() {
    return this.W_a.columns;
  }

  score(query, memory) {
    return product(query, this.W_a, memory.values.length);
  }
}

Object.assign(KINDS, { LocationAttention });

// Vectors and matrices, and functions that decode them from the text of the page.
//
// A vector is a Float32Array, so every element is rounded to float32, as in NumPy. A matrix stores
// its rows one after another in one vector. Vectors are rows, x W, as in the Python package.

"use strict";

class Matrix {
  constructor(rows, columns, data) {
    this.rows = rows;
    this.columns = columns;
    this.data = data;                     // (rows · columns,)
  }

  // A view of row i.
  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }
}

// y = x W.   x (I,), W (I, O) → (O,); columns: the number of leading columns of W to use.
//
// Four rows of W at a time take half as long as one at a time.
function product(x, W, columns = W.columns) {
  const y = new Float32Array(columns);
  const { rows: I, columns: O, data } = W;
  let i = 0;
  for (; i + 3 < I; i += 4) {
    const [a, b, c, d] = [i * O, (i + 1) * O, (i + 2) * O, (i + 3) * O];
    const [x_a, x_b, x_c, x_d] = [x[i], x[i + 1], x[i + 2], x[i + 3]];
    for (let j = 0; j < columns; j++) {
      y[j] += x_a * data[a + j] + x_b * data[b + j] + x_c * data[c + j] + x_d * data[d + j];
    }
  }
  for (; i < I; i++) {
    for (let j = 0; j < columns; j++) y[j] += x[i] * data[i * O + j];
  }
  return y;
}

// y = E x, also four rows at a time.   E (V, K), x (K,) → (V,)
function rowsTimes(E, x) {
  const { rows: V, columns: K, data } = E;
  const y = new Float32Array(V);
  let v = 0;
  for (; v + 3 < V; v += 4) {
    const [a, b, c, d] = [v * K, (v + 1) * K, (v + 2) * K, (v + 3) * K];
    let [y_a, y_b, y_c, y_d] = [0, 0, 0, 0];
    for (let k = 0; k < K; k++) {
      const x_k = x[k];
      y_a += data[a + k] * x_k;
      y_b += data[b + k] * x_k;
      y_c += data[c + k] * x_k;
      y_d += data[d + k] * x_k;
    }
    y.set([y_a, y_b, y_c, y_d], v);
  }
  for (; v < V; v++) {
    let y_v = 0;
    for (let k = 0; k < K; k++) y_v += data[v * K + k] * x[k];
    y[v] = y_v;
  }
  return y;
}

// x · y
function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return Math.fround(sum);
}

// x + y + …, where null counts as 0.
function sum(x, ...others) {
  const y = x.slice();
  for (const other of others) {
    if (other === null) continue;
    for (let i = 0; i < y.length; i++) y[i] += other[i];
  }
  return y;
}

// The concatenation [x; y; …].
function concatenate(...vectors) {
  const y = new Float32Array(vectors.reduce((length, x) => length + x.length, 0));
  let start = 0;
  for (const x of vectors) {
    y.set(x, start);
    start += x.length;
  }
  return y;
}

function tanh(x) {
  return x.map(Math.tanh);
}

function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

// Σ_j w_j h_j.   weights (S,), values: S vectors (D,) → (D,)
function weightedSum(weights, values, D) {
  const c = new Float32Array(D);
  for (let j = 0; j < values.length; j++) {
    const w = weights[j];
    if (w === 0) continue;
    const h = values[j];
    for (let d = 0; d < D; d++) c[d] += w * h[d];
  }
  return c;
}

// ---- decoding ---------------------------------------------------------------------------------

function decodeBase64(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Decode a finite half-precision number (IEEE 754): 1 sign bit, 5 exponent bits, 10 fraction bits.
function decodeHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// Decode a stored array as a vector or a Matrix.
//
//   {shape, float32: base64}     as in Python
//   {shape, float16: base64}     two bytes per number
//   {shape, byte: base64, scales: base64}
//                                w_ij = byte_ij scale_i, byte_ij in −127 … 127, one scale per row
function decodeArray(stored) {
  const columns = stored.shape[stored.shape.length - 1];
  let data;
  if (stored.float32 !== undefined) {
    data = new Float32Array(decodeBase64(stored.float32).buffer);
  } else if (stored.float16 !== undefined) {
    data = Float32Array.from(new Uint16Array(decodeBase64(stored.float16).buffer), decodeHalf);
  } else {
    const scales = new Float32Array(decodeBase64(stored.scales).buffer);
    const bytes = new Int8Array(decodeBase64(stored.byte).buffer);
    data = new Float32Array(bytes.length);
    for (let n = 0; n < bytes.length; n++) data[n] = bytes[n] * scales[Math.floor(n / columns)];
  }
  return stored.shape.length < 2 ? data : new Matrix(stored.shape[0], columns, data);
}

// The equations of a step in the order of computation, each with the names of the values that it
// computes. WEIGHTS instead of names means the table of scores and weights.

"use strict";

const WEIGHTS = "…";

const SCORES = {
  AdditiveAttention: () => "e_j = v_a · tanh(W_a q + U_a h_j)",
  DotAttention: () => "e_j = q · h_j",
  GeneralAttention: () => "e_j = (q W_a) · h_j",
  ScaledDotAttention: ({ W_a }) => (W_a === null ? "e_j = q · h_j / √D"
                                                 : "e_j = (q W_a) · h_j / √D"),
  LocationAttention: () => "e = q W_a",
  MultiHeadAttention: () => "e_j = (q W_q + b_q) · (h_j W_k) / √d_k",
  Single: () => "e_i = v · tanh(W_s k_i)",
  Combined: () => "e_i = v · tanh(W_s k_i + W_q q)",
};

const SOFTMAX = ["α_j = exp(e_j) / Σ_k exp(e_k)", WEIGHTS];

const SUM = "c = Σ_j α_j h_j";
const SEVERAL_HEADS = "c = [head_1; …; head_n] W_o + b_o,  head_i = Σ_j α_j (h_j W_v + b_v)";

// The equations of a window, which replace the softmax: its position, and the weights.
const WINDOWS = {
  LocalMonotonic: ({ width, backwards }) => [
    [backwards ? "p = S − 2 − t, at last S − 1" : "p = min(t, S − 1)", ["p"]],
    [`α_j = exp(e_j) / Σ_k exp(e_k),  |j − p|, |k − p| ≤ ${width}`, WEIGHTS]],
  LocalPredictive: ({ width }) => [
    ["p = S σ(v_p · tanh(W_p q))", ["p"]],
    [`a_j = exp(e_j) / Σ_k exp(e_k),  |j − p|, |k − p| ≤ ${width}`, []],
    [`g_j = exp(−(j − p)² / 2σ²),  σ = ${width / 2}`, ["gauss"]],
    ["α_j = a_j g_j", WEIGHTS]],
};

const CELLS = {
  RNN: () => [["h_t = tanh(x W + h_{t−1} U + b)", ["h"]]],
  LSTM: () => [["i = σ(x W_i + h_{t−1} U_i + b_i)", ["i"]],
               ["f = σ(x W_f + h_{t−1} U_f + b_f)", ["f"]],
               ["g = tanh(x W_g + h_{t−1} U_g + b_g)", ["candidate"]],
               ["o = σ(x W_o + h_{t−1} U_o + b_o)", ["o"]],
               ["c_t = f ∘ c_{t−1} + i ∘ g", ["c"]],
               ["h_t = o ∘ tanh(c_t)", ["h"]]],
  GRU: ({ reset, update }) => [
    ["r = σ(x W_r + h_{t−1} U_r + b_r)", ["reset"]],
    ["z = σ(x W_z + h_{t−1} U_z + b_z)", ["z"]],
    [reset === "after" ? "n = tanh(x W_n + b_n' + r ∘ (h_{t−1} U_n + b_n))"
                       : "n = tanh(x W_n + b_n' + (r ∘ h_{t−1}) U_n)", ["candidate"]],
    [update === "new" ? "h_t = z ∘ n + (1 − z) ∘ h_{t−1}"
                      : "h_t = (1 − z) ∘ n + z ∘ h_{t−1}", ["h"]]],
};

function typeName(part) {
  return part?.constructor.name;
}

// For a stack, these are the equations of the top layer, whose x is the state of the layer below.
function cellLines(cell) {
  const layers = cell instanceof Stacked ? cell.cells : [cell];
  const top = layers.at(-1);
  const below = layers.length - 1;
  return [...below > 0 ? [[`x ← h^${below}_t`, []]] : [], ...CELLS[typeName(top)]?.(top) ?? []];
}

// query: the equation of the query
function attentionLines(attention, query) {
  if (attention instanceof FixedVector) return [["c = h_S", ["context"]]];
  const window = WINDOWS[typeName(attention)];
  const inner = window === undefined ? attention : attention.attention;
  return [
    [query, ["query"]],
    [SCORES[typeName(inner)]?.(inner) ?? "e_j = score(q, h_j)", []],
    ...window?.(attention) ?? [SOFTMAX],
    [inner instanceof MultiHeadAttention ? SEVERAL_HEADS : SUM, ["context"]],
  ];
}

const EQUATIONS = {
  rnnsearch: ({ network }) => [
    ["E y_{t−1}", ["Ey"]],
    ...attentionLines(network.attention, "q = s_{t−1}"),
    ["x = [E y_{t−1}; c]", []],
    ...cellLines(network.decoder),
    ["s_t = h_t", ["s"]],
    [network.readout === "previous" ? "t = maxout(U_o s_{t−1} + V_o E y_{t−1} + C_o c)"
                                    : "t = maxout(U_o s_t + V_o E y_{t−1} + C_o c)", ["t"]],
    ["p(y_t) = softmax(W_o t + b)", []],
  ],
  luong: ({ network }) => [
    network.F === null ? ["x = E y_{t−1}", ["Ey"]] : ["x = [E y_{t−1}; h̃_{t−1}]", ["Ey", "fed"]],
    ...cellLines(network.decoder),
    ...attentionLines(network.attention, network.query === "previous" ? "q = h_{t−1}" : "q = h_t"),
    [`h̃_t = tanh(c C + h_t W${network.b === null ? "" : " + b"})`, ["attentional"]],
    ["p(y_t) = softmax(W_s h̃_t + b_s)", []],
  ],
  // N: layer normalization
  transformer: ({ network }) => {
    const layer = network.decoder.at(-1);
    const below = network.decoder.length - 1;
    const pre = layer.around_source.pre_norm;
    return [
      ["x = √D E y_{t−1} + PE(t)", ["Ey"]],
      ...below > 0 ? [[`x ← v^${below}_t`, []]] : [],
      ...pre ? [["z = x + MultiHead(N(x_t), N(x_0 … x_t))", []], ["q = N(z)", ["query"]]]
        : [["q = N(x + MultiHead(x_t, x_0 … x_t))", ["query"]]],
      [SCORES.MultiHeadAttention(), []],
      SOFTMAX,
      [SEVERAL_HEADS, ["context"]],
      [pre ? "z' = z + c,  v = N(z' + FFN(N(z')))" : "z = N(q + c),  v = N(z + FFN(z))", ["v"]],
      ["p(y_t) = softmax(W_o v + b)", []],
    ];
  },
  "language-model": ({ network }) => [
    ["x = E w_t", ["Ew"]],
    ...cellLines(network.cells),
    ["p(w_{t+1}) = softmax(E' h_t + b)", []],
  ],
  "attentive-language-model": ({ network }) => [
    ["x = E w_t", ["Ew"]],
    ...cellLines(network.cells),
    ...readerLines(network.reader),
    ["p(w_{t+1}) = softmax(E' y_t + b)", []],
  ],
};
EQUATIONS["encoder-decoder"] = EQUATIONS.rnnsearch;

function readerLines(reader) {
  const activated = (a) => (reader.activation === "tanh" ? `y_t = tanh(${a})` : `y_t = ${a}`);
  if (!(reader instanceof KeyValueReadout)) {
    const parts = (one) => [...Array(reader.order - 1).keys()].map(one).join("; ");
    const then = (i) => (i === 0 ? "t" : `{t−${i}}`);
    return [[`h_t = [${parts((i) => `h^${i + 1}_t`)}]`, []],
            [`u = [${parts((i) => `h^${i + 1}_${then(i)}`)}]`, ["parts"]],
            [activated("u W"), ["y"]]];
  }
  const roles = [["k = v = p = h_t", []],
                 ["h_t = [k; v],  p = v", ["key", "value"]],
                 ["h_t = [k; v; p]", ["key", "value", "predict"]]][reader.parts - 1];
  const reach = reader.window ?? reader.reach;
  return [
    roles,
    ["q = k_t", []],
    [SCORES[typeName(reader.attention)]?.() ?? "e_i = score(q, k_i)", []],
    [`α_i = exp(e_i) / Σ_j exp(e_j),  t − ${reach} ≤ i, j < t`, WEIGHTS],
    ["r = Σ_i α_i v_i", ["r"]],
    [activated("W_x p + W_r r + b"), ["y"]],
  ];
}

// A list of [equation, names of values or WEIGHTS]; for other families, the names of all values.
function equationsOf(model, step) {
  const lines = EQUATIONS[model.family]?.(model);
  if (lines !== undefined) return lines;
  const names = Object.keys(step.values);
  return [...names.map((name) => [name, [name]]), ["e → α", WEIGHTS]];
}

// The papers' symbols for values that have other names in `step.values`.
const SYMBOLS = {
  Ey: "E y", Ew: "E w", query: "q", context: "c", fed: "h̃_{t−1}", attentional: "h̃_t", key: "k",
  value: "v", predict: "p", h: "h_t", s: "s_t", y: "y_t", c: "c_t", gauss: "g",
  reset: "r", parts: "u",
};

// The candidate of an LSTM is g, that of a GRU is n.
function symbolOf(name, values) {
  if (name === "candidate") return values.i === undefined ? "n" : "g";
  return SYMBOLS[name] ?? name;
}

// Text and elements for a_j, a_{t−1} and a^1.
function withSubscripts(text) {
  return text.split(/(_\{[^}]*\}|[_^][\p{L}\p{N}])/u).map((part) => {
    if (part.startsWith("_")) return make("sub", {}, part.replace(/^_\{?|\}$/g, ""));
    return part.startsWith("^") ? make("sup", {}, part.slice(1)) : part;
  });
}

// The equations of a step in the order in which they are computed, with the names that its values
// have for what they compute; "…" in place of names: the table of scores and weights.

"use strict";

const WEIGHTS = "…";

const SCORES = {
  AdditiveAttention: "e_j = v_a · tanh(W_a q + U_a h_j)",
  DotAttention: "e_j = q · h_j",
  GeneralAttention: "e_j = (q W_a) · h_j",
  ScaledDotAttention: "e_j = q · h_j / √D",
  LocationAttention: "e = q W_a",
  MultiHeadAttention: "e_j = (q W_q + b_q) · (h_j W_k) / √d_k, for each head",
  FixedVector: "α_S = 1: the last annotation, always",
  Single: "e_i = v · tanh(W_s k_i)",
  Combined: "e_i = v · tanh(W_s k_i + W_q q)",
};

const SOFTMAX = "α_j = exp(e_j) / Σ_k exp(e_k)";

const SEVERAL_HEADS = "c = [head_1; …; head_n] W_o + b_o,  head_i = Σ_j α_j (h_j W_v + b_v)";

const WINDOWS = {
  LocalMonotonic: [["p = t: only positions within the width of it are seen", ["p"]]],
  LocalPredictive: [["p = S σ(v_p · tanh(W_p q))", ["p"]],
                    ["α_s = softmax(e)_s exp(−(s − p)² / 2σ²)", ["gauss"]]],
};

const CELLS = {
  RNN: () => [["h_t = tanh(x W + h_{t−1} U + b)", []]],
  LSTM: () => [["i = σ(x W_i + h_{t−1} U_i + b_i)", ["i"]],
               ["f = σ(x W_f + h_{t−1} U_f + b_f)", ["f"]],
               ["g = tanh(x W_g + h_{t−1} U_g + b_g)", ["candidate"]],
               ["o = σ(x W_o + h_{t−1} U_o + b_o)", ["o"]],
               ["c_t = f ∘ c_{t−1} + i ∘ g", ["c"]],
               ["h_t = o ∘ tanh(c_t)", []]],
  GRU: ({ reset, update }) => [
    ["r = σ(x W_r + h_{t−1} U_r + b_r)", ["reset", "r"]],
    ["z = σ(x W_z + h_{t−1} U_z + b_z)", ["z"]],
    [reset === "after" ? "n = tanh(x W_n + r ∘ (h_{t−1} U_n + b_n))"
                       : "n = tanh(x W_n + (r ∘ h_{t−1}) U_n + b_n)", ["candidate"]],
    [update === "new" ? "h_t = z ∘ n + (1 − z) ∘ h_{t−1}"
                      : "h_t = (1 − z) ∘ n + z ∘ h_{t−1}", []]],
};

function kindOf(part) {
  return part?.constructor.name;
}

// a stack's top layer stands for it
function cellLines(cell) {
  const top = cell instanceof Stacked ? cell.cells.at(-1) : cell;
  return CELLS[kindOf(top)]?.(top) ?? [];
}

// query: what asks, as an equation
function attentionLines(attention, query) {
  const window = WINDOWS[kindOf(attention)];
  const inner = window === undefined ? attention : attention.attention;
  return [
    [query, ["query"]],
    [SCORES[kindOf(inner)] ?? "e_j = score(q, h_j)", []],
    [SOFTMAX, WEIGHTS],
    ...(window ?? []),
    [kindOf(inner) === "MultiHeadAttention" ? SEVERAL_HEADS : "c = Σ_j α_j h_j", ["context"]],
  ];
}

const OF_FAMILIES = {
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
    ["h_t", ["h"]],
    ...attentionLines(network.attention, network.query === "previous" ? "q = h_{t−1}" : "q = h_t"),
    ["h̃_t = tanh(c C + h_t W + b)", ["attentional"]],
    ["p(y_t) = softmax(h̃_t W_s + b_s)", []],
  ],
  transformer: () => [
    ["x = √D E y_{t−1} + PE(t)", ["Ey"]],
    ["q_t", ["query"]],
    [SCORES.MultiHeadAttention, []],
    [SOFTMAX, WEIGHTS],
    [SEVERAL_HEADS, ["context"]],
    ["y_t = FFN(q_t, c)", ["y"]],
    ["p(y_t) = softmax(W_o y_t + b)", []],
  ],
  "language-model": ({ network }) => [
    ["x = E w_t", ["Ew"]],
    ...cellLines(network.cells),
    ["h_t", ["h"]],
    ["p(w_{t+1}) = softmax(h_t E' + b)", []],
  ],
  "attentive-language-model": ({ network }) => [
    ["x = E w_t", ["Ew"]],
    ...cellLines(network.cells),
    ...readerLines(network.reader),
    ["p(w_{t+1}) = softmax(y_t E' + b)", []],
  ],
};
OF_FAMILIES["encoder-decoder"] = OF_FAMILIES.rnnsearch;

function readerLines(reader) {
  if (!(reader instanceof KeyValueReader)) {
    return [["h_t = [h^1; …; h^N]", ["h"]], ["[h^1_t; h^2_{t−1}; …]", ["parts"]],
            ["y_t = tanh([h^1_t; h^2_{t−1}; …] W)", ["y"]]];
  }
  const roles = [["k = v = p = h_t", ["h"]],
                 ["h_t = [k; v],  p = v", ["key", "value"]],
                 ["h_t = [k; v; p]", ["key", "value", "predict"]]][reader.roles - 1];
  return [
    roles,
    [SCORES[kindOf(reader.attention)] ?? "e_i = score(q, k_i)", []],
    [SOFTMAX, WEIGHTS],
    ["r = Σ_i α_i v_i", ["sum"]],
    [reader.activation === "tanh" ? "y_t = tanh(W_x p + W_r r + b)" : "y_t = W_x p + W_r r + b",
     ["y"]],
  ];
}

// → [equation, names of values or WEIGHTS]; of a family that is not here, all values by their names
function equationsOf(model, step) {
  const lines = OF_FAMILIES[model.family]?.(model);
  if (lines !== undefined) return lines;
  const names = Object.keys(valuesOf(step));
  return [...names.map((name) => [name, [name]]), ["e → α", WEIGHTS]];
}

// How the papers write what `step.values` calls otherwise.
const LETTERS_OF = {
  Ey: "E y", Ew: "E w", query: "q", context: "c", fed: "h̃_{t−1}", attentional: "h̃_t", key: "k",
  value: "v", predict: "p", h: "h_t", s: "s_t", y: "y_t", c: "c_t", gauss: "g",
  reset: "r", sum: "r",
};

// The values of a step by their names; of a writer, r is what its reader sums up.
function valuesOf({ values }) {
  if (values.Ew === undefined) return values;
  const { r, ...others } = values;
  return { ...others, sum: r };
}

// an LSTM's candidate is g, a GRU's n
function letterOf(name, values) {
  if (name === "candidate") return values.i === undefined ? "n" : "g";
  return LETTERS_OF[name] ?? name;
}

// a_j, a_{t−1} and a^1 as text and elements.
function withSubscripts(text) {
  return text.split(/(_\{[^}]*\}|[_^][\p{L}\p{N}])/u).map((part) => {
    if (part.startsWith("_")) return make("sub", {}, part.replace(/^_\{?|\}$/g, ""));
    return part.startsWith("^") ? make("sup", {}, part.slice(1)) : part;
  });
}

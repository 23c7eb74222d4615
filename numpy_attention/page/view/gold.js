// Gold links: which words translate each other, and how well the weights point at them.

"use strict";

// The example of the corpus with these source words, or null.
function exampleOf(data, words) {
  const same = (one) => one.source !== undefined && one.source.length === words.length
                        && one.source.every((token, s) => token === words[s]);
  return data.examples.find(same) ?? null;
}

// A set of "s t" for links [s, t] between words. If columns (S,) and rows (T,) give the word of
// each piece, the links are between pieces.
function linkSet(links, columns = null, rows = null) {
  const all = new Set(links.map(([s, t]) => `${s} ${t}`));
  if (columns === null) return all;
  return new Set(rows.flatMap((j, t) => columns.flatMap((i, s) => (
    all.has(`${i} ${j}`) ? [`${s} ${t}`] : []))));
}

// Convert weights of pieces to weights of words: sum over the pieces of a source word, and take the
// mean over those of a target word. columns (S,), rows (T,): the word of each piece
function inWords(weights, columns, rows) {
  const words = [...Array(Math.max(...rows) + 1)].map(() => (
    new Float32Array(Math.max(...columns) + 1)));
  weights.forEach((row, t) => {
    const count = rows.filter((j) => j === rows[t]).length;
    row.forEach((w, s) => { words[rows[t]][columns[s]] += w / count; });
  });
  return words;
}

// rows: weights (S,) for each word of the example's target
//
//   A     = the word with the largest weight in each row; a row of zeros has none
//   error = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)      S sure, P possible (Och & Ney 2003)
//
// → { error, linked, on, adjacent }: the number of target words with a sure link, and of these the
// number that point at a linked word, and at a word next to one
function pointing(rows, example) {
  const { source, target } = example;
  const sure = linkSet(example.sure);
  const possible = linkSet([...example.sure, ...example.possible]);
  let links = 0;
  let hits = 0;
  let linked = 0;
  let on = 0;
  let adjacent = 0;
  for (let t = 0; t < target.length; t++) {
    let best = -1;
    for (let s = 0; s < source.length; s++) {
      if (rows[t][s] > (best < 0 ? 0 : rows[t][best])) best = s;
    }
    if (best >= 0) {
      links += 1;
      hits += sure.has(`${best} ${t}`) + possible.has(`${best} ${t}`);
    }
    const golden = example.sure.filter(([, j]) => j === t).map(([i]) => i);
    if (golden.length === 0) continue;
    linked += 1;
    const away = best < 0 ? Infinity : Math.min(...golden.map((i) => Math.abs(i - best)));
    on += away === 0;
    adjacent += away === 1;
  }
  const total = links + example.sure.length;
  return { error: total > 0 ? 1 - hits / total : null, linked, on, adjacent };
}

/* Sphinx's default scores of search results, plus a bonus for lessons and the glossary. */
var Scorer = {
  score: ([docname, title, anchor, description, score]) => {
    if (docname.startsWith("lessons/")) return score + 20;
    if (docname.startsWith("glossary")) return score + 10;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

"""How measured figures are told: a line each, its interval in brackets beside it."""

from collections.abc import Iterator, Mapping
from typing import Any


def show_translators(figures: Mapping[str, Any]) -> None:
    """What a translator's `measure` found, of all pairs and of those without unknown words."""
    for line in lines_of_translator(figures):
        print(line)
    if "known" in figures:
        known = figures["known"]
        print(f"without unknown words: {known['pairs']:,} pairs that hold none, <unk> not written")
        for line in lines_of_translator(known):
            print(line)


def lines_of_translator(figures: Mapping[str, Any]) -> Iterator[str]:
    def told(name: str, digits: int = 2) -> str:
        return f"{figures[name]:8.{digits}f}{between(figures, name, digits)}"

    what = "tokens"
    per_word = ""
    if figures["unit"] == "pieces":
        what = "pieces of words"
        per_word = f"; {figures['perplexity_word']:.2f} per word"
    yield (f"  perplexity  {told('perplexity')}   over {figures['tokens']:,} {what}, ends "
           f"of sentence included{per_word}")
    yield (f"  BLEU        {told('bleu')}   beam {figures['beam']}, "
           f"{figures['bleu_greedy']:.2f} greedy; {figures['bleu_signature']}")
    yield f"  BLEU 13a    {told('bleu_13a')}   the same, cut by sacreBLEU's own tokeniser"
    yield f"  chrF        {told('chrf')}   {figures['chrf_signature']}"
    yield f"  exact       {told('exact', 3)}   of the greedy translations equal the reference"
    if "pointing" in figures:
        yield (f"  pointing    {told('pointing', 3)}   of the sure links, "
               f"{figures['near']:.3f} within one word; diagonal {figures['diagonal']:.3f}")
        yield f"  AER         {told('aer', 3)}   alignment error rate"


def show_writers(figures: Mapping[str, Any]) -> None:
    """What a language model's `measure` found on a text."""
    where = f"  {figures['split']:<5}" if figures["split"] else " "
    unknown = f"; {100 * figures['unknown']:.1f} % are <unk>" if figures["unknown"] else ""
    perplexity = figures["perplexity"]
    tokens = figures["tokens"]
    if "bits_per_character" in figures:
        line = (f"{figures['bits_per_character']:8.3f} bits a character   perplexity "
                f"{perplexity:.3f}{between(figures, 'perplexity', 3)} over {tokens:,} characters")
    else:
        line = (f"perplexity {perplexity:8.2f}{between(figures, 'perplexity')}   over "
                f"{tokens:,} tokens, ends of sentence included")
    print(f"{where} {line}{unknown}", flush=True)
    if "perplexity_skip_first" in figures:
        print(f"{'':{len(where)}}            {figures['perplexity_skip_first']:8.2f}"
              f"{between(figures, 'perplexity_skip_first')}   where first words of sentences are "
              "counted and not predicted", flush=True)


def between(figures: Mapping[str, Any], name: str, digits: int = 2) -> str:
    """" [low, high]", a figure's interval, or "" where it has none."""
    if f"{name}_low" not in figures:
        return ""
    low, high = (figures[f"{name}_{end}"] for end in ("low", "high"))
    return f" [{low:.{digits}f}, {high:.{digits}f}]"

"""Mutants that no test can tell from the code, or need not, and why: {reason: keys}.

A key is what mutate_rooms.py prints after SURVIVED, without its line number; * stands for anything.
One that explains no survivor any more is reported as STALE.
"""

HARMLESS = {
    "any sentence has the same signature": [
        "numpy_attention/metrics.py signature: constant: 'a' → 'a_'*",
    ],
    "of nothing, the smallest is not below 0 either way": [
        "numpy_attention/data/batching/grouping.py check_ids_in: constant: 0 → 1",
        "numpy_attention/decoding/hypothesis.py longest: constant: 1 → 2 (3)",
    ],
    "a place before the first word, where no link is": [
        "numpy_attention/metrics.py _largest: constant: 1 → 2 (7)",
    ],
    "what mpirun's ranks alone run: tests/cli/test_mpirun.py holds it, and takes minutes": [
        "numpy_attention/training/distributed/ranks.py world: *",
        "numpy_attention/training/distributed/jobs.py executor_of: *",
    ],
    "how often, or how long, something is waited for": [
        "numpy_attention/training/interrupt.py Interrupt.awaited: compare: time.monotonic() < *",
        "numpy_attention/training/interrupt.py Interrupt.awaited: left out: time.sleep(0.01)",
        "numpy_attention/training/interrupt.py Interrupt.awaited: constant: 0.01 → 0.02",
        "numpy_attention/training/distributed/ranks.py : constant: 3.0 → 6.0",
        "numpy_attention/training/distributed/ranks.py Ranks.ended_alike: compare: time.monotonic() > end *",
        "numpy_attention/training/distributed/ranks.py Ranks.ended_alike: left out: time.sleep(0.01)",
        "numpy_attention/training/distributed/ranks.py Ranks.ended_alike: constant: 0.01 → 0.02",
    ],
    "a sum of two is the same either way round": [
        "numpy_attention/training/distributed/ranks.py Ranks.add: arguments: np.add(parts[to], parts[one], *",
    ],
    "at that distance there is nothing left to add": [
        "numpy_attention/training/distributed/ranks.py tree: compare: distance < count → distance <= count",
    ],
    "zipfile flushes the file that it has ended; said for the reader": [
        "numpy_attention/training/checkpoint.py save: left out: file.flush()",
    ],
    "the smallest number above 0 on the way to 1 is the one on the way to 2": [
        "numpy_attention/training/trainer.py Trainer._check: constant: 1 → 2",
    ],
    "what an argument says is the default: else tests/recipes/written.txt would differ": [
        "numpy_attention/experiments/recipes/* argument left out: TranslatorTraining(*",
        "numpy_attention/experiments/recipes/* argument left out: LanguageModelTraining(*",
    ],
    "whether two sentences are equal is asked the same either way round": [
        "numpy_attention/experiments/runs/figures.py of_text: arguments: metrics.exact_match(*",
    ],
    "a training whose optimizer is not known is refused before, by its own name": [
        "numpy_attention/experiments/runs/trained.py Trained.trainer: constant: 'optimizer' → 'optimizer_'",
    ],
    "one thread or two: the same sums to rounding": [
        "numpy_attention/experiments/runs/writer.py Writer.measure: constant: 1 → 2",
    ],
    "no model has a size in between": [
        "numpy_attention/experiments/recipes/equal.py : constant: 2000000 → 2000001",
        "numpy_attention/experiments/recipes/mechanisms.py : constant: 3000000 → 3000001",
    ],
    "there is one Transformer, and it is named so": [
        "numpy_attention/experiments/recipes/mechanisms.py transformer: arguments: mechanism(name, *",
    ],
    "two markers, each once, do not begin at one place": [
        "numpy_attention/experiments/recipes/results.py put_tables: compare: text.index(START) > * → * >= *",
    ],
    "the neighbour of 0 on the way to 1 is the one on the way to 2": [
        "numpy_attention/decoding/sampling.py _check: constant: 1 → 2 (2)",
        "numpy_attention/training/optimizers.py : constant: 1 → 2",
    ],
    "how many batches an epoch has, whatever their order": [
        "numpy_attention/training/snapshot.py _check_place: arguments: "
        "trainer.order(saved['seed'], epochs) → trainer.order(epochs, saved['seed'])",
    ],
    "whether two files are one is asked the same either way round": [
        "numpy_attention/training/lock.py _is: arguments: os.path.samestat(*",
    ],
    "no array is as long as the file that holds it": [
        "numpy_attention/training/archive.py _check_members: compare: member.file_size > size → "
        "member.file_size >= size",
    ],
    "a shortcut: what it lets through too many is sorted and cut two lines below": [
        "numpy_attention/decoding/beam.py _largest: compare: count < len(flat) → *",
        "numpy_attention/decoding/beam.py _largest: sign: -flat → flat",
        "numpy_attention/decoding/beam.py _largest: arithmetic: count - 1 → count + 1",
        "numpy_attention/decoding/beam.py _largest: constant: 1 → 2",
        "numpy_attention/decoding/beam.py _largest: left out: smallest = flat.min()",
        "numpy_attention/decoding/beam.py _largest: call: flat.min() → flat.max()",
    ],
    "NumPy tells the kind of a sort by its first letter": [
        "numpy_attention/* constant: 'stable' → 'stable_'*",
    ],
    "how often a bar is drawn anew while batches pass: any pace that the eye can follow serves": [
        "numpy_attention/training/progress.py bar_of: constant: 0.5 → 1.0",
        # the end of it is cut off: mininterval=0.5
        "numpy_attention/training/progress.py bar_of: argument left out: "
        "* → tqdm(total=batches, initial=done, disable=not shown, unit='batch', leave=False, "
        "desc=f'epoch {epoch…",
    ],
    "a shortcut: what it passes over, the next line finds right": [
        "numpy_attention/data/pairs.py _check_links: left out: continue",
    ],
    "speed of a download: as many bytes come in pieces of any size": [
        "numpy_attention/data/datasets/downloads.py _download: argument left out: pooch.HTTPDownloader("
        "progressbar=progress, headers=headers, timeout=30, chunk_size=1 << 16) → "
        "pooch.HTTPDownloader(progressbar=progress, headers=headers, timeout=30)",
        "numpy_attention/data/datasets/downloads.py _download: constant: 1 → 2",
        "numpy_attention/data/datasets/downloads.py _download: constant: 16 → 17",
    ],
    "how long a silent server is waited for: half a minute, as pooch does unless told": [
        "numpy_attention/data/datasets/downloads.py _download: argument left out: pooch.HTTPDownloader("
        "progressbar=progress, headers=headers, timeout=30, chunk_size=1 << 16) → "
        "pooch.HTTPDownloader(progressbar=progress, headers=headers, chunk_size=1 << 16)",
        "numpy_attention/data/datasets/downloads.py _download: constant: 30 → 31",
    ],
    "a name in a temporary folder of its own": [
        "numpy_attention/data/datasets/downloads.py fetch_file: constant: 'member' → 'member_'",
    ],
    "the next condition asks more: of two equals signs alone, the second is no title": [
        "numpy_attention/data/datasets/public.py articles_of: compare: len(line) > 2 → len(line) >= 2",
    ],
    "the default, said where the French beside it says the same in its own way": [
        "numpy_attention/data/datasets/public.py tatoeba: argument left out: "
        "TextForm('words', lowercase=True) → TextForm('words')",
    ],
    "all fields that begin so go on with an underscore": [
        "numpy_attention/data/user_text.py UserFiles.load: constant: 'valid' → 'valid_'",
    ],
    "one validation file without the other is refused when they are named; both are for mypy": [
        "numpy_attention/data/user_text.py UserPairs._parts: logic: self.valid_source is None or "
        "self.valid_target is None → self.valid_source is None and self.valid_target is None",
    ],
    "the first character beyond: a letter of Linear B, no mark": [
        "numpy_attention/data/text_form.py _token_pattern: constant: 65536 → 65537",
    ],
    "sentencepiece's own defaults, said for the reader, of <s>, </s> and <pad>": [
        "numpy_attention/data/subwords.py Subwords.build: argument left out: library.* (5)",
        "numpy_attention/data/subwords.py Subwords.build: argument left out: library.* (6)",
        "numpy_attention/data/subwords.py Subwords.build: argument left out: library.* (8)",
    ],
    "of <unk> in a text that sentencepiece puts together itself, which is not asked of it here": [
        "numpy_attention/data/subwords.py Subwords.build: argument left out: library.* (9)",
    ],
    "byte pairs are counted alike by any number of threads": [
        "numpy_attention/data/subwords.py Subwords.build: argument left out: library.* (10)",
        "numpy_attention/data/subwords.py Subwords.build: constant: 1 → 2 (3)",
    ],
    "errors of sentencepiece arrive as exceptions too: nothing more is printed at either level": [
        "numpy_attention/data/subwords.py Subwords.build: constant: 2 → 3",
    ],
    "a draw that hits the share itself, to the last of 53 bits, is met by no seed": [
        "numpy_attention/data/datasets/grammar.py * compare: rng.random() < 0.* → rng.random() <= 0.*",
    ],
    "no word begins with what stands here besides the vowels": [
        "numpy_attention/data/datasets/grammar.py _starts_with_vowel: constant: 'aeiouœ' → 'aeiouœ_'",
        "numpy_attention/data/datasets/grammar.py _noun_phrase: constant: 'aeiou' → 'aeiou_'",
    ],
    "keys of a sentence's phrases: that they differ is all, and both sides are given the same": [
        "numpy_attention/data/datasets/grammar.py _sentence: constant: 'subject' → 'subject_'",
        "numpy_attention/data/datasets/grammar.py _doing: constant: 'object' → 'object_' (3)",
        "numpy_attention/data/datasets/grammar.py _doing: constant: 'place' → 'place_'",
    ],
    "of an adverb, an object or a place, with which nothing agrees": [
        "numpy_attention/data/datasets/grammar.py Phrase: constant: 'il' → 'il_'",
        "numpy_attention/data/datasets/grammar.py Phrase: constant: 'm' → 'm_'",
        "numpy_attention/data/datasets/grammar.py Phrase: constant: False → True",
    ],
    "the last word of a vocabulary occurs in the text that it was made of": [
        "numpy_attention/experiments/runs/writer.py Writer.create: argument left out: np.bincount(*",
    ],
    "sentences of like lengths go together for speed; each finds its place again": [
        "numpy_attention/experiments/runs/translator.py Translator.translate: argument left out: sorted(*",
    ],
}

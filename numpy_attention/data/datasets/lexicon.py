"""The words of the English–French grammar, with the forms that French agreement needs."""

from typing import NamedTuple


class Noun(NamedTuple):
    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str  # "m" or "f"


class Adjective(NamedTuple):
    """french: masculine and feminine singular, both plurals, masculine singular before a vowel."""

    english: str
    french: tuple[str, ...]
    before: bool  # French puts it before the noun
    living: bool  # said of people and animals only

    def form(self, gender: str, plural: bool, vowel_follows: bool = False) -> str:
        if vowel_follows and gender == "m" and not plural:
            return self.french[4]
        return self.french[2 * plural + (gender == "f")]


class Determiner(NamedTuple):
    """English and French (masculine, feminine) for the singular and the plural.

    An empty tuple stands where it has none.
    """

    singular: tuple[str, ...]
    plural: tuple[str, ...]

    def forms(self, gender: str, plural: bool) -> tuple[str, str]:
        english, masculine, feminine = self.plural if plural else self.singular
        return english, feminine if gender == "f" else masculine


class Verb(NamedTuple):
    english: str
    english_third: str
    french: dict[str, str]  # by person: je, il, nous, vous, ils


def _nouns(text: str) -> tuple[Noun, ...]:
    return tuple(Noun(*line.split()) for line in text.strip().splitlines())


def _adjective(line: str, before: bool) -> Adjective:
    english, *french = line.split()
    if len(french) == 1:  # regular: -e for the feminine, unless it ends so, and -s for the plural
        m = french[0]
        f = m if m.endswith("e") else m + "e"
        french = [m, f, m + "s", f + "s"]
    if len(french) == 4:
        french.append(french[0])
    living = english.endswith("*")
    return Adjective(english.rstrip("*"), tuple(french), before, living)


def _adjectives(text: str, before: bool) -> tuple[Adjective, ...]:
    return tuple(_adjective(line, before) for line in text.strip().splitlines())


def _verb(line: str) -> Verb:
    english, third, *french = line.split()
    if len(french) == 1:  # regular verbs in -er, given by their stem
        french = [french[0] + ending for ending in ("e", "e", "ons", "ez", "ent")]
    return Verb(english, third, dict(zip(("je", "il", "nous", "vous", "ils"), french)))


LIVING = _nouns("""
boy boys garçon garçons m
girl girls fille filles f
man men homme hommes m
woman women femme femmes f
child children enfant enfants m
king kings roi rois m
queen queens reine reines f
doctor doctors médecin médecins m
student students étudiant étudiants m
friend friends ami amis m
neighbour neighbours voisin voisins m
sister sisters sœur sœurs f
brother brothers frère frères m
uncle uncles oncle oncles m
aunt aunts tante tantes f
hero heroes héros héros m
cat cats chat chats m
dog dogs chien chiens m
horse horses cheval chevaux m
bird birds oiseau oiseaux m
cow cows vache vaches f
mouse mice souris souris f
wolf wolves loup loups m
owl owls hibou hiboux m
goat goats chèvre chèvres f
rabbit rabbits lapin lapins m
""")

THINGS = _nouns("""
house houses maison maisons f
car cars voiture voitures f
book books livre livres m
letter letters lettre lettres f
tree trees arbre arbres m
flower flowers fleur fleurs f
apple apples pomme pommes f
table tables table tables f
chair chairs chaise chaises f
window windows fenêtre fenêtres f
hat hats chapeau chapeaux m
church churches église églises f
key keys clé clés f
boat boats bateau bateaux m
island islands île îles f
bridge bridges pont ponts m
lamp lamps lampe lampes f
watch watches montre montres f
coat coats manteau manteaux m
knife knives couteau couteaux m
star stars étoile étoiles f
shoe shoes chaussure chaussures f
""")

PLACES = _nouns("""
garden gardens jardin jardins m
kitchen kitchens cuisine cuisines f
street streets rue rues f
forest forests forêt forêts f
town towns ville villes f
field fields champ champs m
school schools école écoles f
hotel hotels hôtel hôtels m
""")

# An asterisk marks what is said of people and animals only.
ADJECTIVES = _adjectives("""
small petit
big grand
good bon bonne bons bonnes
young* jeune
old vieux vieille vieux vieilles vieil
beautiful beau belle beaux belles bel
new nouveau nouvelle nouveaux nouvelles nouvel
pretty joli
""", before=True) + _adjectives("""
black noir
white blanc blanche blancs blanches
red rouge
green vert
blue bleu
yellow jaune
grey gris grise gris grises
brown brun
strange étrange
famous célèbre
dangerous dangereux dangereuse dangereux dangereuses
magnificent magnifique
sad* triste
happy* heureux heureuse heureux heureuses
strong* fort
intelligent* intelligent
rich* riche
tired* fatigué
polite* poli
jealous* jaloux jalouse jaloux jalouses
""", before=False)

DETERMINERS = (
    Determiner(("the", "le", "la"), ("the", "les", "les")),
    Determiner(("a", "un", "une"), ("some", "des", "des")),
    Determiner(("my", "mon", "ma"), ("my", "mes", "mes")),
    Determiner(("our", "notre", "notre"), ("our", "nos", "nos")),
    Determiner(("your", "votre", "votre"), ("your", "vos", "vos")),
    Determiner(("this", "ce", "cette"), ("these", "ces", "ces")),
    Determiner((), ("two", "deux", "deux")),
    Determiner((), ("three", "trois", "trois")),
)

# English and French subject pronoun, person of the verb, gender and number of an adjective.
PRONOUNS = (
    ("i", "je", "je", "m", False),
    ("he", "il", "il", "m", False),
    ("she", "elle", "il", "f", False),
    ("we", "nous", "nous", "m", True),
    ("you", "vous", "vous", "m", True),
    ("they", "ils", "ils", "m", True),
)

# The last is not used with a negation.
ADVERBS = (("often", "souvent"), ("always", "toujours"), ("sometimes", "parfois"))

VERBS = tuple(_verb(line) for line in """
like likes aim
find finds trouv
draw draws dessin
carry carries port
hide hides cach
touch touches touch
admire admires admir
avoid avoids évit
forget forgets oubli
adore adores ador
help helps aid
imagine imagines imagin
see sees vois voit voyons voyez voient
hear hears entends entend entendons entendez entendent
want wants veux veut voulons voulez veulent
buy buys achète achète achetons achetez achètent
sell sells vends vend vendons vendez vendent
take takes prends prend prenons prenez prennent
follow follows suis suit suivons suivez suivent
lose loses perds perd perdons perdez perdent
paint paints peins peint peignons peignez peignent
choose chooses choisis choisit choisissons choisissez choisissent
have has ai a avons avez ont
await awaits attends attend attendons attendez attendent
""".strip().splitlines())

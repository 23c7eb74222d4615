"""The equations of docstrings and lessons, as MathML.

They are plain Unicode, `c = Σ_j α_j h_j`, so that help() and an editor show them too. A block of
them becomes a table that keeps their columns: formulas as MathML, remarks as text. A block that
holds code, or nothing that reads as a formula, stays as it is.
"""

import re
import unicodedata
from html import escape

ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "~": "~"}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹ᵀᵗⁱʲ", "0123456789Ttij"))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ₜᵢⱼ", "0123456789tij"))
FUNCTIONS = ("log", "exp", "tanh", "sin", "cos", "min", "max", "diag", "mean")
CLOSED_BY = {"(": ")", "[": "]", "⟨": "⟩", "‖": "‖"}
NAME = r"[A-Za-z0-9α-ω]+"
TOKEN = re.compile(rf"""
    (?P<prose>\([a-z]{{3,}}(?:\ [a-z]+)*\)(?=\s|$))             # (what goes through z and r)
  | (?P<number>\d+(?:\.\d+)?|[½⁄])
  | (?P<name>(?:d?[α-ω]|[A-Za-z]+)(?:[\u0302-\u0304]|~(?=[\s_)]|$))?)
  | (?P<sub>_\{{[^{{}}]*\}}|_{NAME}(?:,{NAME}(?:_{NAME})?)?(?:[+−]\d)?|[{"".join(LOWERED)}]+)
  | (?P<sup>\^\{{[^{{}}]*\}}|\^\([^()]*\)|\^−?[A-Za-z0-9½⁄]+|[{"".join(RAISED)}]+|'+)
  | (?P<over>[→←](?=[A-Za-z]))                                # ←h, of the way back
  | (?P<big>[Σ√∂])
  | (?P<fence>[()\[\]⟨⟩‖])
  | (?P<sign>[+−]=|[-=≈·+−/∘~,;|←→⇒∝…∞∩⊆])
  | (?P<space>\s+)
""", re.VERBOSE)
RELATION = re.compile(r"(?:^|\s)([+−]=|[=≈~←∝])\s")
IS_CODE = re.compile(r'\w\.\w+\(|:\s*$|^\s*(?:for|if|def|return|import|from) |#\s', re.MULTILINE)
PIECE = re.compile(r"\S+(?: \S+)*")
SYMBOL = re.compile(rf"(?<![\w.])(?:[A-Za-zα-ω]|d[A-Za-zα-ω])[\u0302-\u0304]?"
                    rf"'*_(?:\{{[^{{}}]*\}}|[A-Za-z0-9]{{1,2}}(?![A-Za-z0-9_]))"
                    rf"(?:\^[A-Za-z0-9]|[{''.join(RAISED)}']*)")


class Unreadable(ValueError):
    """A text is not a formula."""


def block(lines):
    """The lines of an indented block as HTML in one line; None: they are not equations."""
    text = "\n".join(lines)
    if IS_CODE.search(text) or not re.search(
            r"[^\x00-\x7f]|\b[A-Za-z]_\w|^[a-z] = .*[A-Z]", text, re.MULTILINE):
        return None
    rows = [cells_of(line) for line in lines]
    if not any(is_relation for row in rows for _, _, is_relation in row):
        return None
    align(rows)
    starts = sorted({start for row in rows for start, _, _ in row})
    return ('<div class="formulas"><table>'
            + "".join(row_of(row, starts) for row in rows if row) + "</table></div>")


def align(rows):
    """Put relations below each other where formulas are; one alone stays with its left side."""
    found = {}
    pairs = [(row, place) for row in rows for place in reversed(range(1, len(row)))
             if row[place][2]]
    for row, place in pairs:
        found.setdefault(row[place - 1][0], []).append(row[place][0])
    for row, place in pairs:
        start, left, _ = row[place - 1]
        if len(found[start]) > 1:
            row[place] = (min(found[start]), *row[place][1:])
        else:
            row[place - 1:place + 1] = [(start, left + row[place][1], True)]


def row_of(row, starts):
    """A row of the table: each cell goes on to where the next one starts."""
    made = []
    ends = [starts.index(start) for start, _, _ in row[1:]] + [len(starts)]
    place = starts.index(row[0][0])
    if place:
        made.append(f'<td colspan="{place}"></td>')
    for (start, cell, _), end in zip(row, ends):
        made.append(f'<td colspan="{end - starts.index(start)}">&#8203;{cell}</td>')
    return f"<tr>{''.join(made)}</tr>"


def cells_of(line):
    """[(column, HTML, whether it has a relation)] of a line."""
    made = []
    for start, piece in pieces_of(line):
        relation = RELATION.search(piece)
        if relation and relation[1]:
            left, right = piece[:relation.start()].rstrip(), piece[relation.start(1):]
            try:
                first = formula(left, may_have_words=not re.search(r"\w \w", left))
                second = equated(right)
            except Unreadable:
                pass
            else:
                if left:
                    made.append((column(line, start), first, False))
                made.append((column(line, start + relation.start(1)), second, True))
                continue
        try:
            made.append((column(line, start), formula(piece), False))
        except Unreadable:
            made.append((column(line, start), remark(piece), False))
    return made


def pieces_of(line):
    """[(place, text)] of what wide gaps part, except before and after an operator."""
    made = []
    for piece in PIECE.finditer(line):
        if made and (re.match(r"(?:[+−]=|[=≈~←→∝+−])(?:\s|$)", piece[0])
                     or re.search(r"(?:^|\s)[=≈~←→∝+−]$", made[-1][1])):
            start = made[-1][0]
            made[-1] = (start, line[start:piece.end()])
        else:
            made.append((piece.start(), piece[0]))
    return made


def column(line, place):
    """Where a place of a line is seen: accents take no room."""
    return sum(not unicodedata.combining(char) for char in line[:place])


def equated(text):
    """A relation and its right side, as far as that is a formula. Unreadable: it is none."""
    try:
        return formula(text, may_have_words=True)
    except Unreadable:
        for comma in re.finditer(r",\s", text):
            try:
                return formula(text[:comma.start()], may_have_words=True) + remark(
                    text[comma.start():])
            except Unreadable:
                continue
        sign, _, rest = text.partition(" ")
        return formula(sign) + " " + remark(rest)


def remark(text):
    """Words, with their symbols as MathML."""
    made = []
    place = 0
    for found in SYMBOL.finditer(text):
        made += [escape(text[place:found.start()]), formula(found[0])]
        place = found.end()
    words = re.sub(r"`(.+?)`", r"<code>\1</code>", "".join(made) + escape(text[place:]))
    return f'<span class="remark">{words}</span>'


def formula(text, may_have_words=False):
    """A formula as a <math> element. Unreadable: it has something else, or words."""
    tokens = tokens_of(text)
    if not may_have_words and any(is_word(tokens, place) for place in range(len(tokens))):
        raise Unreadable(text)
    parts = [token for token in tokens if token[0] != "space"]
    for one, other in zip(range(len(parts)), range(1, len(parts))):
        if is_word(parts, one) and is_word(parts, other):
            raise Unreadable(text)
    return f'<math display="inline" displaystyle="true">{Parser(tokens, text).whole()}</math>'


def tokens_of(text):
    """[(kind, text)]. Unreadable: a character that no formula has."""
    made = []
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if not found:
            raise Unreadable(text)
        made.append((found.lastgroup, found[0]))
        place = found.end()
    return made


def is_word(tokens, place):
    """Whether a token is a name of several letters, not a function or a differential."""
    kind, text = tokens[place]
    letters = re.sub(r"[^A-Za-z]", "", text)
    is_called = tokens[place + 1:place + 2] and tokens[place + 1][1] == "("
    return kind == "name" and len(letters) > 1 and letters not in FUNCTIONS and not is_called and (
        len(letters) > 2 or letters[0] != "d")


class Parser:
    """Tokens → MathML. A row is a list of [element, is it an operand?, no space before it?]."""

    def __init__(self, tokens, text):
        self.tokens = tokens
        self.text = text
        self.place = 0

    def whole(self):
        row = self.row(None)
        if self.place < len(self.tokens):
            raise Unreadable(self.text)
        return row

    def peek(self):
        return self.tokens[self.place] if self.place < len(self.tokens) else (None, "")

    def take(self):
        self.place += 1
        return self.tokens[self.place - 1]

    def row(self, end):
        """All up to a closing fence, which is left; None: up to the end."""
        made = []
        is_held = False
        while self.peek()[0] and not (end and self.peek()[1] == end):
            kind, text = self.peek()
            if kind == "space":
                self.take()
                is_held = False
            elif (kind, text) == ("sign", "/") and is_held and made and made[-1][1]:
                self.take()
                made.append([self.fraction(made), True, False])
            elif kind == "sign":
                self.take()
                made.append([f"<mo>{escape(text.replace('~', '∼'))}</mo>", False, is_held])
                is_held = True
            else:
                made.append([self.operand(), True, is_held])
                is_held = True
        return joined(made)

    def fraction(self, row):
        """L/∂x, written without spaces: what is held to the slash, or begins at the last ∂."""
        is_slope = self.peek()[1] == "∂"
        firsts = [place for place, (element, _, _) in enumerate(row) if "<mo>∂</mo>" == element]
        start = len(row) - 1
        while start and row[start][2] and row[start - 1][1]:
            start -= 1
        if is_slope and firsts:
            start = firsts[-1]
        above = joined(row[start:])
        del row[start:]
        below = []
        while self.peek()[0] not in (None, "space", "sign") and self.peek()[1] not in ")]⟩‖":
            below.append([self.operand(), True, True])
        if not below:
            raise Unreadable(self.text)
        return f"<mfrac><mrow>{above}</mrow><mrow>{joined(below)}</mrow></mfrac>"

    def operand(self):
        """A name, number or group with what is raised and lowered at it."""
        kind, text = self.take()
        if text == "√":
            if self.peek()[1] != "(":
                return f"<msqrt>{self.operand()}</msqrt>"
            self.take()
            inside = self.row(")")
            if self.peek()[1] != ")":
                raise Unreadable(self.text)
            self.take()
            return f"<msqrt>{inside}</msqrt>"
        if text == "∂":
            return "<mo>∂</mo>"
        if text == "Σ":
            lower = self.take()[1][1:].strip("{}") if self.peek()[0] == "sub" else None
            return (f"<munder><mo>∑</mo><mrow>{index(lower)}</mrow></munder>" if lower
                    else "<mo>∑</mo>")
        before = ""
        if kind == "prose":
            element = f"<mtext>{escape(text)}</mtext>"
        elif kind == "number":
            element = f"<mn>{text}</mn>"
        elif kind == "over":
            letter = self.take()[1]
            element = f"<mover><mi>{letter}</mi><mo>{text}</mo></mover>"
        elif kind == "name":
            before, element = named(text)
        elif text in CLOSED_BY:
            inside = self.row(CLOSED_BY[text])
            if self.peek()[1] != CLOSED_BY[text]:
                raise Unreadable(self.text)
            close = self.take()[1]
            element = (f'<mrow><mo form="prefix">{text}</mo>{inside}'
                       f'<mo form="postfix">{close}</mo></mrow>')
        else:
            raise Unreadable(self.text)
        return before + self.with_scripts(element)

    def with_scripts(self, element):
        lower = upper = ""
        while self.peek()[0] in ("sub", "sup"):
            kind, text = self.take()
            if kind == "sub":
                text = "".join(LOWERED.get(char, char) for char in text.removeprefix("_"))
                lower += index(text.strip("{}"))
            elif "'" in text:
                upper += f"<mo>{'′' * len(text)}</mo>"
            else:
                text = "".join(RAISED.get(char, char) for char in text.removeprefix("^"))
                upper += index(text.strip("{}()"))
        if lower and upper:
            return f"<msubsup>{element}<mrow>{lower}</mrow><mrow>{upper}</mrow></msubsup>"
        if lower:
            return f"<msub>{element}<mrow>{lower}</mrow></msub>"
        return f"<msup>{element}<mrow>{upper}</mrow></msup>" if upper else element


def named(text):
    """(the part before it, the name): d of a gradient is upright, accents are over letters."""
    letters, accent = (text[:-1], ACCENTS[text[-1]]) if text[-1] in ACCENTS else (text, "")
    before = ""
    if len(letters) == 2 and letters[0] == "d":
        before, letters = '<mi mathvariant="normal">d</mi>', letters[1]
    element = f"<mi>{letters}</mi>"
    return before, f'<mover accent="true">{element}<mo>{accent}</mo></mover>' if accent else element


def index(text):
    """Each letter is a name, but model in d_model is one. Unreadable: it is not a formula."""
    spaced = re.sub(r"_\w+|(?<=[A-Za-z])(?=[A-Za-z])", lambda found: found[0] or " ", text)
    return re.sub(r"<mspace[^>]*>", "", Parser(tokens_of(spaced), text).whole())


def joined(row):
    """The elements of a row, with a thin space between factors."""
    made = []
    for number, (element, is_operand, is_held) in enumerate(row):
        if number and is_operand and row[number - 1][1] and not is_held:
            made.append('<mspace width="0.2em"/>')
        made.append(element)
    return "".join(made)


def in_markdown(text):
    """A text of a lesson with its blocks of equations as HTML."""
    parts = re.split(r"^((?:```|~~~).*?^(?:```|~~~)[^\n]*$)", text, flags=re.M | re.S)
    parts[::2] = [re.sub(r"(?:(?<=\n\n)|\A) {4}\S[^\n]*(?:\n(?: {4}[^\n]*|(?=\n {4}\S)))*",
                         lambda found: block([line[4:] for line in found[0].splitlines()])
                         or found[0], part) for part in parts[::2]]
    return "".join(parts)

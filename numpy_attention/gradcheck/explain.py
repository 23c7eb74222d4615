"""What kind of mistake a wrong gradient is: what it lacks, what it has too often, what it is of."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from numpy_attention.gradcheck.forwards import STEP, Moving

CLOSE = 1e-4
MOST_PARTS = 16         # uses of a name, or times of one, told apart
BLOCKS = (2, 3, 4)      # of the gates of a cell

# what a derivative may be, of a value z that the forward has: {how it is written: what it is}
LOCAL = {
    "1": lambda z: np.ones_like(z),
    "{}": lambda z: z,
    "(1 - {})": lambda z: 1 - z,
    "(1 + {})": lambda z: 1 + z,
    "{}**2": lambda z: z**2,
    "(1 - {}**2)": lambda z: 1 - z**2,
    "{} * (1 - {})": lambda z: z * (1 - z),
    "1 / {}": lambda z: 1 / z,
}


@dataclass(frozen=True)
class Kind:
    """A kind of mistake by its short name, and what is said of it."""

    name: str
    text: str


# ---- through which use it comes back -------------------------------------------------------------


class Uses:
    """Where a value of the forward is read, and what comes back through each of these places."""

    def __init__(self, derivatives, number=None, n=0, array=None):
        self.derivatives = derivatives
        self.number = number
        self.n = n
        self.array = array
        found = Readers(derivatives.places, number, n, array)
        with derivatives.rewritten.told(found):
            derivatives.run()
        self.times = found.times            # [(place of the use, which time of it)]
        self.shape = found.shape

    def parts(self):
        """→ (names of the parts, their derivatives along directions, the directions).

        A part is a use at one time; where these are many, a use at all times.
        """
        parts = [(use, (time,)) for use, time in self.times]
        if len(parts) > MOST_PARTS:
            uses = dict.fromkeys(use for use, _ in self.times)
            parts = [(use, tuple(time for one, time in self.times if one == use)) for use in uses]
        if not parts or len(parts) > MOST_PARTS:
            return [], np.zeros((0, 0)), None
        rng = np.random.default_rng([7, *self.shape])
        directions = rng.standard_normal((len(parts) + 3, *self.shape))
        found = np.array([[self.along(part, STEP * one) / STEP for one in directions]
                          for part in parts])
        kept = independent(found)
        parts, found = [parts[i] for i in kept], found[kept]
        if self.number is not None:
            rest = self.total(directions) - found.sum(0)
            if np.abs(rest).max() > 1e-6 * np.abs(found).max(initial=0):
                return [*parts, (None, ())], np.vstack([found, rest]), directions
        return parts, found, directions

    def total(self, directions):
        """What comes back along directions through whatever there is."""
        return np.array([self.derivatives.along(self.number, self.n, STEP * one) / STEP
                         for one in directions])

    def along(self, part, step):
        above, below = (self.loss(part, sign * step) for sign in (1, -1))
        return (above - below) / 2

    def loss(self, part, step):
        use, times = part
        listener = MovingUse(self.number, self.n, step, use, times, self.array)
        with self.derivatives.rewritten.told(listener):
            return self.derivatives.run()

    def coefficients(self, value):
        """→ (parts, how often each is in a value); None where it is no sum of them."""
        if not isinstance(value, np.ndarray) or value.shape != self.shape:
            return None
        parts, found, directions = self.parts()
        if not parts:
            return None
        given = np.array([np.sum(value * one) for one in directions])
        often, *_ = np.linalg.lstsq(found.T, given, rcond=None)
        rest = given - found.T @ often
        size = max(np.abs(given).max(), np.abs(found).max())
        if not np.isfinite(given).all() or np.abs(rest).max() > CLOSE * size:
            return None
        return parts, often


def independent(parts):
    """The numbers of the parts that bring something, and are not what others bring together.

    A value that is handed on is read once more by whom it is handed to.
    """
    size = np.abs(parts).max(initial=0)
    kept = [i for i, one in enumerate(parts) if np.abs(one).max() > 1e-7 * size]
    for i in list(kept):
        others = [k for k in kept if k != i]
        if not others:
            break
        often, *_ = np.linalg.lstsq(parts[others].T, parts[i], rcond=None)
        rest = np.abs(parts[others].T @ often - parts[i]).max()
        if rest < CLOSE * size and np.isin(np.round(often, 3), (0, 1)).all():
            kept = others
    return kept


class Readers:
    """Listens who reads one value; not who hands it on to a function that is listened to."""

    def __init__(self, places, number, n, array):
        self.places = places
        self.number = number
        self.left = n
        self.held = array
        self.shape = None if array is None else array.shape
        self.times = []
        self.counts = {}

    def moved(self, value, number):
        if number == self.number:
            if self.left == 0:
                self.held = value
                self.shape = value.shape
            self.left -= 1
        elif value is self.held and value is not None:
            if self.places[number].kind == "argument":
                del self.times[-1:]
            elif self.places[number].kind == "expression":          # of a list, hs[t]
                self.used(value, number)
        return value

    def used(self, value, number):
        n = self.counts.get(number, 0)
        self.counts[number] = n + 1
        if number == self.number:
            return self.moved(value, number)
        if value is self.held and self.held is not None:
            self.times.append((number, n))
        return value


class MovingUse(Moving):
    """Moves a value where one place reads it, at some of the times."""

    def __init__(self, number, n, step, use, times, array):
        super().__init__(number, n, step, use)
        self.times = times
        if array is not None:
            self.held = array

    def moved(self, value, number):
        if number == self.use and value is self.held:
            return self.used(value, number)
        return super().moved(value, number)

    def used(self, value, number):
        n = self.counts["use", number]
        self.counts["use", number] += 1
        if number == self.number:
            return super().moved(value, number)
        if number == self.use and value is self.held and n in self.times:
            return value + self.step
        return value


def through_uses(uses, value):
    """What a wrong gradient has of each use, as Kinds: missing, doubled, of the wrong sign."""
    known = uses.coefficients(value)
    if known is None:
        return []
    parts, often = known
    places = uses.derivatives.places
    by_use = {}
    for (use, times), k in zip(parts, often):
        if use is not None:
            by_use.setdefault(use, []).append((times, k))
    found = []
    for use, counted in by_use.items():
        place = places[use]
        line = f"line {place.line}, {statement(uses.derivatives, place)}"
        ks = np.array([k for _, k in counted])
        if np.allclose(ks, 1, atol=1e-3):
            continue
        if np.allclose(ks, 0, atol=1e-3):
            name = "output ignored" if "return" in line else "missing term"
            found.append(Kind(name, f"nothing comes back through {line}"))
        elif np.allclose(ks, -1, atol=1e-3):
            found.append(Kind("sign", f"what comes back through {line} has the wrong sign"))
        elif np.allclose(ks, 2, atol=1e-3):
            found.append(Kind("double", f"what comes back through {line} is counted twice"))
        elif np.allclose(ks, ks[0], atol=1e-3):
            found.append(Kind("factor", f"what comes back through {line} is {ks[0]:.4g} times what "
                              "it should be"))
        else:
            right = [i for i, k in enumerate(ks) if abs(k - 1) < 1e-3]
            found.append(Kind(*of_times(right, ks, line)))
    return found


def of_times(right, ks, line):
    """The name and the text of a gradient that is right for some of the times alone."""
    zero = np.abs(ks) < 1e-3
    if right == [0] and zero[1:].all():
        return "assigned", (f"of {len(ks)} times that {line} is run, the first alone counts, the "
                            "backward's last: assigned where it is to be added")
    if right == [len(ks) - 1] and zero[:-1].all():
        return "assigned", f"of {len(ks)} times that {line} is run, the last alone counts"
    wrong = [i for i in range(len(ks)) if i not in right]
    return "wrong step", f"wrong for the times {wrong} of the {len(ks)} that {line} is run"


def statement(derivatives, place):
    """The statement of the forward that a use stands in, as it is written."""
    same = [one for one in derivatives.places if one.line == place.line and one.name
            and one.file == place.file and one.kind in ("assign", "update", "part")]
    try:
        import linecache
        text = linecache.getline(place.file, place.line).split("#")[0].strip()
    except OSError:
        text = ""
    return text or (same[0].text if same else place.text)


# ---- from the two arrays alone -------------------------------------------------------------------


def of_arrays(found, right, flags=()):
    """What a wrong array looks like beside the right one, as Kinds; flags: masks it may follow."""
    if np.shape(found) != right.shape:
        turned = " which is the other way round" if np.shape(found) == right.shape[::-1] else ""
        return [Kind("shape", f"its shape is {np.shape(found)}, expected {right.shape}{turned}")]
    if not np.isfinite(found).all():
        return [Kind("unwritten", "not finite: a division by 0 or an overflow, or memory of "
                     "np.empty that was never written")]
    size = np.abs(right).max(initial=0)
    if np.abs(found).max(initial=0) <= 1e-9 * size:
        return [Kind("missing term", "all 0: the statement that adds this gradient is missing, or "
                     "adds to a copy")]

    def same(one, other):
        return np.abs(one - other).max(initial=0) <= CLOSE * size

    large = np.abs(right) > 1e-3 * size
    ratios = found[large] / right[large]
    scaled = len(ratios) and np.allclose(ratios, ratios[0], rtol=CLOSE)
    if scaled and not np.isclose(ratios[0], 1, rtol=CLOSE) and same(found, ratios[0] * right):
        if np.isclose(ratios[0], -1, rtol=CLOSE):
            return [Kind("sign", "every element has the other sign")]
        return [Kind("factor", f"every element is {ratios[0]:.5g} times the right one")]
    if found.ndim == 2 and found.shape[0] == found.shape[1] and same(found.T, right):
        return [Kind("transpose", "right after a transpose: the factors of a matrix product are "
                     "exchanged")]
    return masked(found, right, size, flags) or exchanged(found, right, same) or along(
        found, right, size)


def exchanged(found, right, same):
    """Blocks of columns, such as those of gates, in another order or turned."""
    for count in BLOCKS:
        if found.ndim == 0 or found.shape[-1] % count:
            continue
        ours, theirs = (np.split(one, count, -1) for one in (found, right))
        for order in permutations(range(count)):
            if order != tuple(range(count)) and all(
                    same(ours[i], theirs[k]) for i, k in enumerate(order)):
                return [Kind("exchanged", f"right with its {count} blocks of columns in the order "
                             f"{list(order)}: two of them are exchanged")]
        wrong = [i for i in range(count) if not same(ours[i], theirs[i])]
        if len(wrong) == 1:
            i = wrong[0]
            text = f"only block {i} of the {count} blocks of columns is wrong"
            if ours[i].ndim == 2 and ours[i].shape[0] == ours[i].shape[1] and same(
                    ours[i].T, theirs[i]):
                return [Kind("transpose", f"{text}: it is transposed")]
            return [Kind("block", text)]
    return []


def masked(found, right, size, flags):
    """Right but where it should be 0; or wrong where a mask is False, or True, alone."""
    wrong = np.abs(found - right) > CLOSE * size
    if wrong.any() and not right[wrong].any():
        return [Kind("mask backward", f"right but at {int(wrong.sum())} places that should be 0: "
                     "a mask is forgotten")]
    for flag in flags:
        steps = [flag, *flag] if flag.ndim > 1 else [flag]
        for one in steps:
            if one.all() or not one.any() or wrong.shape[:one.ndim] != one.shape:
                continue
            rows = wrong.any(axis=tuple(range(one.ndim, wrong.ndim)))
            if np.array_equal(rows, ~one):
                which = "backward" if np.abs(found[~one]).any() else "forward"
                return [Kind(f"mask {which}", "wrong where the mask is False alone: the forward "
                             "and the backward do not treat it alike")]
    return []


def along(found, right, size):
    """Wrong along some of an axis alone."""
    wrong = np.abs(found - right) > CLOSE * size
    for axis in range(wrong.ndim):
        bad = np.flatnonzero(wrong.any(axis=tuple(i for i in range(wrong.ndim) if i != axis)))
        if 0 < len(bad) < wrong.shape[axis]:
            return [Kind("place", f"only {bad[:6].tolist()} along axis {axis} of {wrong.shape}: a "
                         "mask, the first or last step, a gate's block of columns, or ids that "
                         "occur twice")]
    return []


def local_derivative(found, right, values):
    """found = right · g(z) / f(z) of a value z of the forward; values: {name: array}."""
    if np.shape(found) != right.shape or not np.isfinite(found).all():
        return []
    with np.errstate(all="ignore"):
        for name, z in values.items():
            if z.shape != right.shape:
                continue
            pair = factors(found, right, z)
            if pair is not None:
                return [Kind("derivative", factor_text(*pair, name))]
    return []


def factors(found, right, z):
    """The names of f and g, of LOCAL, with found · f(z) = right · g(z); None: there are none."""
    made = {text: f(z) for text, f in LOCAL.items()}
    made = {text: one for text, one in made.items() if np.isfinite(one).all()}
    for wanted, f in made.items():
        for written, g in made.items():
            if wanted == written:
                continue
            size = np.abs(right * g).max(initial=0)
            if size > 0 and np.abs(found * f - right * g).max() <= CLOSE * size:
                return wanted, written
    return None


def factor_text(wanted, written, name):
    right, wrong = (text.replace("{}", name) for text in (wanted, written))
    if written == "1":
        return f"a factor {right} is missing"
    if wanted == "1":
        return f"a factor {wrong} is too much"
    return f"it has a factor {wrong} where {right} is right"


def kinds_of(derivatives, found, right, number=None, time=0, array=None, earlier=(), flags=()):
    """The Kinds of one wrong gradient, likeliest first.

    found, right: arrays; earlier: what the gradient was before, the last first; number, time: of the value of the forward that it belongs to; array: the
    parameter, or input, that it belongs to.
    """
    kinds = of_arrays(found, right, flags)
    if kinds and kinds[0].name in ("shape", "unwritten"):
        return kinds
    through = Uses(derivatives, number, time, array)
    uses = next(filter(None, (through_uses(through, one) for one in (found, *earlier))), [])
    values = {}
    for one, made in derivatives.values.items():
        place = derivatives.places[one]
        if place.name and place.kind != "use" and number is not None:
            again = derivatives.times(number)
            if len(made) == len(again) and made[time] is not None:
                values[place.name] = made[time]
    local = local_derivative(found, right, values) if not uses else []
    return uses + local + kinds

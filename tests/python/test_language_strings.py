"""Strings whose characters are known only when the call runs, against CPython: rows of docs/language.md."""

import math

import numpy as np
import pytest

import ingot
from support import check, jitted, refused

SHORT = "ACGTTGCAACGTAG"
LONG = SHORT * 20
WIDE = "aé€😀z\ud800"
TEXTS = (SHORT, LONG, "", "A", WIDE)
HALF = "\ud800"
CONSTANT = "hello world, this is a long constant text, of more than sixty four characters, and more!"


def subsequence(a, b):
    best = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                best[i, j] = best[i - 1, j - 1] + 1
            else:
                best[i, j] = max(best[i - 1, j], best[i, j - 1])
    return best[len(a), len(b)]


def distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a):
        now = [i + 1]
        for j, y in enumerate(b):
            now.append(min(before[j + 1] + 1, now[j] + 1, before[j] + (x != y)))
        before = now
    return before[-1]


def runs(s):
    count = 0
    last = ""
    for c in s:
        if c != last:
            count += 1
        last = c
    return count, last


def counted(s):
    counts = {}
    for c in s:
        counts[c] = counts.get(c, 0) + 1
    return counts


def coded(s):
    codes = {"A": 0, "C": 1, "G": 2, "T": 3}
    number = 0
    for c in s:
        number = (4 * number + codes[c]) % 1000003
    return number


def members(s):
    count = 0
    for c in s:
        if isinstance(c, str) and c and c in {"A", "C", "z"} and c not in ("A",) and c in "CGTz":
            count += 1
    return count


def test_characters_are_iterated():
    for s in TEXTS:
        check(runs, s)
        check(lambda s: [ord(c) for c in s], s)
        check(lambda s: sum(i for i, c in enumerate(s) if c == "G"), s)
        check(lambda s: [c for c in s if c > "A"], s)
        check(lambda s: list(s), s)
        check(members, s)
    check(lambda a, b: sum(x != y for x, y in zip(a, b)), SHORT, LONG)
    check(lambda s: [ord(c) for c in reversed(s)], LONG)
    check(lambda n: sum(c == "l" for c in CONSTANT) + n, 1)


def test_characters_are_taken():
    for i in (0, -1, 3, 5, 99, True):
        check(lambda s, i: s[i], WIDE, i)
    check(lambda s, i: s[i], SHORT, 1.5)
    check(lambda s, i: (s[i:], s[:i], s[i : i + 3], s[::-1], s[i::-2]), LONG, 7)
    check(lambda s, i: (s[i:], s[:i], s[i : i + 3], s[::-1], s[i::-2]), WIDE, 2)
    check(lambda i: CONSTANT[i], 12)
    check(lambda i: CONSTANT[i], 200)
    check(lambda s, i: s[i] + 1, SHORT, 0)
    check(lambda n: ([chr(65 + k) for k in range(n)], chr(n)), 70)
    check(lambda n: (ord("a") + n, chr(66), [ord(c) for c in "abc"]), 1)
    check(lambda n: ord("ab"), 1)
    check(lambda n: chr("a"), 1)
    check(lambda n: chr(n), 1.5)
    check(lambda n: chr(n), -1)
    check(lambda n: chr(n), 0x110000)


def test_characters_are_compared():
    for a, b in ((SHORT, SHORT), (SHORT, LONG), (LONG, "A"), ("A", "A"), (WIDE, SHORT)):
        check(lambda s, t, i: (s[i:] == t, s[i:] != t, s[i:] < t, s[i:] <= t, s[i:] > t, s[i:] >= t), a, b, 0)
        check(lambda s, t, i: (s[i] == t, s[i] < t, s[i] in t, t[i:] in s, s[:i] == "", s[i] == 1, s[i] == None), a, b, 0)  # noqa: E711
    check(lambda s, t: sum(s[i : i + len(t)] == t for i in range(len(s))), LONG, "ACG")
    check(lambda s, i: 1 in s[i:], SHORT, 1)


def test_characters_are_keys():
    for s in TEXTS:
        check(counted, s)
        check(coded, s)


def test_characters_leave_the_function():
    def shown(s, i):
        print(s[i], s[:i], s)
        return s[i], f"<{s[i]}:{s[1:i]!r}>", s[i] + "|" + s[0]

    check(shown, LONG, 3)
    check(shown, WIDE, 2)

    def raises(s, i):
        if s[i] == "A":
            raise ValueError("bad " + s[i], 3)
        return {"C": 1}[s[i]]

    for i in range(3):
        check(raises, SHORT, i)


def test_other_texts_are_not_compiled_anew():
    for function in (subsequence, distance):
        call = jitted(function)
        rng = np.random.default_rng(0)
        for n in (2, 30, 120, 180):
            a, b = ("".join("ACGT"[k] for k in rng.integers(0, 4, n)) for _ in range(2))
            assert call(a, b) == function(a, b)
        assert len(call.specialisations) == 1


def test_strings_stay_known_where_characters_do_not_do():
    check(lambda s: ([c.lower() for c in s], s.count("A")), SHORT)
    check(lambda s: sum(float(c) for c in s), "123")

    def joined(s):
        out = ""
        for c in s:
            out += c + "-"
        return out

    check(joined, SHORT)
    call = jitted(lambda s, x: sum(ord(c) for c in s) + x[0])
    with pytest.raises(ingot.UnsupportedError):
        call("abc", ["1"] * 70)
    assert [call(s, [1]) for s in ("abc", "abcd")] == [295, 395] and len(call.specialisations) == 1


def test_what_is_unrolled_has_one_budget():
    def pairs(t):
        total = 0.0
        for x in t:
            for y in t:
                total += abs(x - y)
        return total

    numbers = tuple(map(float, range(100)))
    assert "np.array" in refused(pairs, numbers, words="unrolling a loop over a tuple to more than 16 000 operations")
    check(pairs, numbers[:20])
    check(pairs, np.array(numbers))

    def upper(s):
        out = ""
        for c in s:
            for d in s:
                out += c.upper() + d
        return len(out)

    refused(upper, "ACGT" * 50, words="unrolling a loop over a str to more than 20 000 iterations")


def test_strings_have_attributes_and_are_members():
    check(lambda s: (hasattr(s, "upper"), hasattr(s, "other"), hasattr(1.5, "real"), hasattr((1,), "append")), "text")
    check(lambda d: hasattr(d, name="w"), [1.0])
    check(lambda d: hasattr(d, **{"name": "w"}), {"a": 1.0})
    check(lambda d: hasattr(d), [1.0])
    check(lambda d, q: (q in d, q in d.keys(), q in d.values(), (q, 1) in d.items(), "b" not in d.keys()), {"a": 1, "c": 2}, "a")
    check(lambda groups: ("..." in groups, "a" in [q for q in ",".join(groups).split(",")]), ("a", "..."))


def test_strings_are_unpacked():
    def two(s):
        a, b = s
        return b + a

    def one(s):
        (a,) = s
        return a

    def starred(s):
        [a, *b, c] = s
        return a, b, c

    def of_constants():
        a, b = "xy"
        *c, d = "xyz"
        return a, b, c, d

    def in_a_loop(s, words):
        out = ""
        for a, b in words:
            out += b + a
        for i, (a, b) in enumerate(zip(s, s)):
            out += a + b
        return out, [x + y for x, y in words]

    for s in ("ab", "a", "", "abc", "é\ud800", SHORT):
        for function in (two, one, starred):
            check(function, s)
    check(of_constants)
    check(in_a_loop, "xyz", ["ab", "cd"])
    check(in_a_loop, "xyz", ("ab", "c"))


def test_strings_with_half_a_surrogate_pair():
    def formatted(s):
        return f"{s}!", s + "x", f"{chr(0xD800)}", f"<{HALF}>", [c for c in s], {s: 1}, repr(s), s == "a\udc80b"

    def raised():
        raise ValueError(f"{chr(0xD800)}")

    def raised_by_key(s):
        return {"a": 1}[s]

    check(formatted, "a\udc80b")
    check(raised)
    check(raised_by_key, "a\udc80b")
    message = refused(lambda n: f"{chr(0xD800)}{n}", 3, words="half of a surrogate pair")
    assert "chr(0xD800)" in message


def test_keywords_of_str_and_int():
    def strings(x):
        return str(object=x), str(x), str()

    def decoded(x):
        return str(x, "utf8"), str(x, encoding="ascii"), str(object=x, encoding="utf8", errors="strict")

    def integers(s):
        return int(s, 16), int(s, base=0), int("101", base=2), int(s, base=36)

    def base(s):
        return int(s, base=2)

    for x in (1, 2.5, "a", None, (1, "b"), True):
        check(strings, x)
    check(decoded, b"ab")
    check(decoded, b"\xff")
    check(decoded, 3)
    check(integers, "0x1f")
    for s in ("11", "12", 3, 2.5):
        check(base, s)
    check(lambda: int(base=10))


def test_formats_with_percent():
    check(lambda x, i: "%5.2f|%-8.3f|%+.1e|%08.3f|% g|%G|%#.3g" % (x, x, x, x, x, x, x), 2.5, 3)
    check(lambda x, i: "%d|%5d|%-5d|%05d|%+d|% d|%i|%u" % (i, i, i, i, i, i, x, x), 2.5, 3)
    check(lambda i: "%x|%X|%#x|%o|%#o|%06x" % (i, i, i, i, i, i), 255)
    check(lambda x, i: "%s|%r|%10s|%-10s|%.2s|%a" % (x, i, x, i, x, i), 2.5, 3)
    check(lambda x: "%s %% of %s%%" % (x, "all"), 2.5)
    check(lambda x: ("%s" % x, "%r" % [x, 1], "%s" % ((x, 2),), "100%%" % ()), 2.5)
    check(lambda x: "%(a)5.1f and %(b)s" % {"a": x, "b": 2}, 2.5)
    check(lambda x: ("%d" % x, "%f" % x, "%s" % x, "%.2f" % x), np.float32(2.75))
    check(lambda x: ("%d" % x, "%5.1f" % x, "%x" % x), np.int8(7))
    check(lambda x: "%d %f %s" % (x > 1, x > 1, x > 1), 2.5)
    check(lambda x: "%f %e %08.2f" % (x, -x, x), math.inf)
    for wrong in (lambda x: "%d" % (x / 0.0), lambda x: "%d %d" % x, lambda x: "%d" % (x, x), lambda x: "%x" % x):  # noqa: F507
        check(wrong, 2.5)

    def prints(x):
        for i in range(3):
            print("%2d: %6.3f" % (i, x * i))
        raise ValueError("bad value %g at %s" % (x, "here"))

    check(prints, 2.5)

"""Programs that are refused: containers that paths and loops replace."""


def halved(p, n):
    for _ in range(n):
        p = {k: p[k] * 0.5 for k in p}
    return p


def put_after(p, x):
    p = halved(p, len(x))
    p["w"] = x
    return p


def put_below(p, x):
    q = halved(p, len(x))
    p["w"] = x
    return q


def same_after(p, x):
    return halved(p, len(x)) is p


def both_after(p, x):
    q = {k: p[k] + 1 for k in p}
    return q, halved(q, len(x))


def stored_after(p, out, x):
    out["p"] = halved(p, len(x))


def passed_after(p, x):
    return descends(halved(p, len(x)), len(x))


def descends(p, n):
    return p["w"] if n == 0 else descends(p, n - 1) * 2


def list_after(p, x):
    for _ in range(len(x)):
        p = [a * 0.5 for a in p]
    p[0] = x
    return p


class Pair:
    def __init__(self, w, b):
        self.w, self.b = w, b


def instance_after(p, x):
    for _ in range(len(x)):
        p = Pair(p.w * 0.5, p.b)
    p.w = x
    return p

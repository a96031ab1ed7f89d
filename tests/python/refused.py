"""Functions, classes and objects that are refused, or that are refused things: what refusals.py makes examples of."""

import abc
import collections
import ctypes
import dataclasses
import enum
import functools
import tempfile
import types

import numpy as np

import ingot

X = np.arange(4.0)
GRID = np.arange(12.0).reshape(3, 4)
FILLED = ingot.guvectorize("void(float64[:])", "(n)")(lambda x: None)
DOUBLED = ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")(lambda x, out: None)
FIVE_AXES = ingot.stencil(lambda a: a[0, 0, 0, 0, 0])
FIXED = X.copy()
FIXED.flags.writeable = False
STEPS = iter([1])
MAPPED = np.memmap(tempfile.TemporaryFile(), np.float64, "w+", shape=3)
KEPT = functools.cache(lambda x: x + 1)
total = 0
pull_of_shared = ingot.vjp(lambda a, b: a * b, FIXED, FIXED)[1]


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


class Shown(Point):
    def __repr__(self):
        return "shown"

    def __str__(self):
        return self.x


class Formatted(Point):
    def __format__(self, spec):
        return spec


class Hooked:
    x = 1.0

    def __getattribute__(self, name):
        return 1.0


class Missing:
    def __getattr__(self, name):
        return 1.0


class Setting:
    def __setattr__(self, name, value):
        pass


class Counted(type):
    def __call__(cls, *args):
        return type.__call__(cls, *args)


class Made(metaclass=Counted):
    pass


class New:
    def __new__(cls, x):
        return object.__new__(cls)


class Deleted:
    def __del__(self):
        pass


class Descriptor:
    def __get__(self, instance, kind):
        return 1.0

    def __set__(self, instance, value):
        pass


class Described:
    x = Descriptor()


class Cached:
    @functools.cached_property
    def x(self):
        return 1.0

    @functools.lru_cache
    def kept(self, x):
        return x


class Own:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Indexed:
    def __getitem__(self, i):
        return i


class Iterated:
    def __iter__(self):
        return self

    def __next__(self):
        return 1


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self):
        pass


class Pair(collections.namedtuple("Pair", "x y")):
    pass


class Odd(collections.namedtuple("Odd", "x y")):
    def __new__(cls, x):
        return super().__new__(cls, x, x)


class Item(collections.namedtuple("Item", "x y")):
    __slots__ = ()

    def __getitem__(self, i):
        return i


class Colour(enum.Enum):
    RED = 1
    GREEN = (1, 2)


@dataclasses.dataclass
class Cell:
    x: float
    y: float = 0.0


P = Point(1.0, 2.0)
GENERATOR = np.random.default_rng(0)


class Shape(enum.Enum):
    ROUND = 1
    FLAT = 2

    def __str__(self):
        return "a shape"


def shows_member(x):
    shape = Shape.ROUND
    for v in x:
        if v > 0:
            shape = Shape.FLAT
    return f"{shape}"


def result_of_kinds(x):
    return x * 2 if x[0] > 0 else None


def read_only_on_one_path(x, y):
    return x if len(x) > 3 else y


def writes_read_only(x, y, n):
    z = x if n > 0 else y
    z[0] = 1.0


def on_some_paths(n):
    p = Cell(1.0)
    if n > 0:
        p.z = 2.0
    return p


def deletes_on_some_paths(n):
    p = Point(1.0, 2.0)
    if n > 0:
        p.z = 2.0
    del p.z


def catches_what(x, kinds):
    try:
        return 1 / x
    except kinds:
        return 0.0


def in_try(x):
    try:
        for i in ingot.prange(len(x)):
            if x[i] < 0:
                raise ValueError
    except ValueError:
        pass


def opens(x):
    with open("x"):
        return x


def assigns_global(x):
    global total
    total = x


WIDE: tuple = (1.0,)
for _ in range(20):
    WIDE = (WIDE, WIDE)


def holds_much(x):
    return x + len(WIDE)


def imports(x):
    import antigravity  # noqa: F401

    return x


def imports_relatively(x):
    from . import sibling  # noqa: F401

    return x


def replaces_lists(n):
    c = [0.0, [0]]
    for _ in range(n):
        d = c
        c = [d[0] + 1, [d[1][0] + 1]]
    return c


def iterates_flat_twice(x):
    flat = x.flat
    return [v for v in flat], [v for v in flat]


def defines(x):
    class Inner:
        pass

    return x


def groups(x):
    try:
        return 1 / x
    except* ZeroDivisionError:
        pass


def adds_to_attribute(x):
    x[0].real += 1


def starred(items):
    first, *rest = [i for i in range(int(items[0]))]
    return first


def races(x):
    for i in ingot.prange(1, len(x)):
        x[i] = x[i - 1] + 1


def leaves_prange(x):
    for i in ingot.prange(len(x)):
        if x[i] > 0:
            break


def draws_in_prange(x):
    for i in ingot.prange(len(x)):
        x[i] = np.random.random()


def counts_prange(x):
    for i in ingot.progress(ingot.prange(len(x))):
        x[i] += 1


def lost_after(items):
    new = [1.0]
    items.append(new)
    new.append(2.0)


def itself(items):
    items.append(items)


def itself_in(items):
    items[0] = items


def itself_inserted(items):
    items.insert(0, items)


def pops(items, n):
    if n > 0:
        items.pop()
    return len(items)


def puts(items, x):
    items[0] = x


def tags(counts):
    counts.tag = 1


def collects(items, n):
    if n < 0:
        items.append([n])
        return
    for k in range(n):
        items.append(k)


def keys_on_one_path(d, n):
    if n > 0:
        d["new"] = 1
    return len(d)


def mixed(n):
    items = []
    for i in range(n):
        if i % 2:
            items.append(i)
        else:
            items.append("odd")
    return items


def shorter_from_the_back(items, x):
    own = [1, 2, 3]
    for a, b in zip(reversed(own), [1, 2, 3]):
        if a > 1:
            own.pop()
            own.pop()


def not_settling_while(x, n):
    y = 0
    i = 0
    while i < n:
        y = (y,)
        i += 1
    return y


class Link:
    def __init__(self, following):
        self.following = following


def follows_links(link):
    n = 0
    while link is not None:
        link = link.following
        n += 1
    return n


def unrolls(x):
    t = (1, 2.0, "a")
    s = 0
    for i in range(30000):
        s += t[i % 2] if i < 2 else 0
    return s


def twice(x):
    e = enumerate(x)
    for _ in e:
        pass
    return [a for _, a in e]


def in_step(x):
    def g(y):
        for v in y:
            yield v

    return [a * b for a, b in zip(g(x), g(x))]


def iterates_itself(n):
    def down(n):
        if n > 0:
            yield n
            yield from down(n - 1)

    return sum(down(n))


def nests(x, n):
    if n == 0:
        return 0
    return nests((x,), n - 1)


def outlives(x):
    def make():
        return (v for v in x)

    return sum(make())


def left(x):
    def g():
        try:
            for v in x:
                yield v
        finally:
            x[0] = 1.0

    kept = g()
    for v in kept:
        if v > 1:
            break
    return kept


def catches_all(x):
    def g():
        for v in x:
            try:
                yield v
            except:  # noqa: E722
                pass

    for v in g():
        if v > 1:
            break


def yields_while_closed(x):
    def g():
        try:
            yield x[0]
        finally:
            yield x[1]

    for v in g():
        break


def in_parts(n):
    rows = []
    for i in range(n):
        rows.append([i])
    rows[0][:1] = [2]
    return rows


def sorts_row(n):
    rows = []
    for i in range(n):
        rows.append([i])
    del rows[0][:1]
    return rows


def row_times(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows[0] - rows[1]


def row_order(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows[0] < rows[1]


def row_method(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows[0].__class__


def set_in_node(n):
    nodes = []
    for i in range(n):
        nodes.append(Point(0.0, i))
    nodes[0].x = "a"
    return nodes


def in_dict(n):
    rows = {}
    for i in range(n):
        rows[i] = {i: i}
    return len(rows)


def of_dicts(n):
    points = []
    for i in range(n):
        points.append(Point({i: i}, 0))
    return len(points)


def passes_generator(x, n):
    def down(g, k):
        if k == 0:
            return 0
        return down(g, k - 1)

    return down((v for v in x), n)


def matches_range(n):
    match range(n):
        case [1, *_]:
            return 1
    return 0


def matches_mapping(d):
    match d:
        case {"a": 1}:
            return 1
    return 0


class Stepped(Point):
    __match_args__ = ["x"]

    def __iter__(self):
        yield self.x

    def __contains__(self, x):
        return x == self.x

    @property
    def z(self):
        return self.x


class SteppedToo:
    def __init__(self, x, y):
        self.x = x
        self.ends = (x, y, x)

    def __iter__(self):
        yield self.x

    def __contains__(self, x):
        return x == self.x


MANY = tuple([type(f"Many{i}", (), {}) for i in range(70)])


def of_two_classes(n):
    made = []
    for i in range(n):
        made.append(Stepped(i, i))
        made.append(SteppedToo(i, i))
    return made


def walks_two_classes(n):
    total = 0
    for p in of_two_classes(n):
        for v in p:
            total += v
    return total


def looks_into_two_classes(n):
    return [n in p for p in of_two_classes(n)]


def formats_two_classes(n):
    for p in of_two_classes(n):
        print(f"{p:>4}")


def class_of_class_of_two(n):
    for p in of_two_classes(n):
        print(type(type(p)))


def one_of_many(n):
    made = []
    for i in range(n):
        for one in MANY:
            made.append(one())
    return len(made)


def matches_property(n):
    for p in of_two_classes(n):
        match p:
            case Stepped(z=z):
                return z
    return 0


def matches_listed(n):
    for p in of_two_classes(n):
        match p:
            case Stepped(z):
                return z
    return 0


def matches_star(n):
    for p in of_two_classes(n):
        match p:
            case SteppedToo(ends=(a, *b)):
                return a
    return 0


def matches_names(x):
    match x:
        case (1, a) | (a, 1):
            return a
    return 0


def text_of_kind(x):
    try:
        return 1 / x
    except ZeroDivisionError as e:
        return repr(e)


def no_super(x):
    return super().f


def super_of(x):
    return super(Point, x).f


def calls_instance(x):
    p = Point(x, x)
    return object.__repr__(p)


def deletes_attribute(x):
    del x.shape


def deletes_class_attribute(p):
    del p.__class__


def class_of(p):
    p.__class__ = Shown


def sets_descriptor(p):
    p.x = 1.0


def augmented_star(x):
    items = [1.0]
    items *= x
    return items


class Row(list):
    pass


def deep(n):
    if n == 0:
        raise
    return deep(n - 1)


def list_method(n):
    items = [i for i in range(n)]
    return items.__sizeof__()


def new_keys_while_iterated(n):
    found = {1: 2, 3: 4}
    for k in found:
        found[k + n] = 1
    return found


def grows_while_iterated(x):
    items = [v for v in x if v > 0]
    for v, w in zip(items, x):
        if v > w:
            items.append(v)
    return items


def with_a_step(x):
    items = [v for v in x if v > 0]
    items[::2] = [1.0]
    return items


def holds_a_set(x):
    items = [v for v in x if v > 0]
    items.append({1})
    return items


def holds_an_array(x):
    items = [v for v in x if v > 0]
    items.append(x)
    return items


def pops_while_iterated(x):
    counts = {int(v): 1 for v in x}
    for k in counts:
        counts.pop(k)
    return counts


def method_of_a_dict(x):
    counts = {int(v): 1 for v in x}
    return counts.fromkeys([1])


def adds_entries(n):
    entries = collections.OrderedDict()
    entries |= {n: 1}
    return entries


def sets_apart(x):
    s = {"a"}
    if x[0] > 0:
        s.add("b")
    return len(s)


def kind_that_raises(x):
    total = 0
    for value in x:
        total = value
    return total & 2


def two_kinds(x):
    y = x if x[0] > 0 else 1.0
    return y + 1


def assigned_attribute(x):
    items = [1.0]
    items.extra = x


def none_by_type(x):
    y = None if x[0] > 0 else 1.0
    match y:
        case float():
            return 1
    return 0


def uses_all(x):
    items = [v for v in x if v > 0]
    return str(items) + "a" * len(items)


def sum_of_a_dict(x):
    counts = {int(v): 1 for v in x}
    return counts == {1: 1, 2: x}


def tries(x):
    try:
        s = 0.0
        s += x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] + x[8] + x[9] + x[10] + x[11]
        s += x[12] + x[13] + x[14] + x[15] + x[16] + x[17] + x[18] + x[19] + x[20] + x[21] + x[22] + x[23]
        s += x[24] + x[25] + x[26] + x[27] + x[28] + x[29] + x[30] + x[31] + x[32] + x[33] + x[34] + x[35]
        s += x[36] + x[37] + x[38] + x[39] + x[40] + x[41] + x[42] + x[43] + x[44] + x[45] + x[46] + x[47]
        s += x[48] + x[49] + x[50] + x[51] + x[52] + x[53] + x[54] + x[55] + x[56] + x[57] + x[58] + x[59]
        s += x[60] + x[61] + x[62] + x[63] + x[64] + x[65] + x[66] + x[67] + x[68] + x[69] + x[70] + x[71]
        s += x[72] + x[73] + x[74] + x[75] + x[76] + x[77] + x[78] + x[79] + x[80] + x[81] + x[82] + x[83]
        s += x[84] + x[85] + x[86] + x[87] + x[88] + x[89] + x[90] + x[91] + x[92] + x[93] + x[94] + x[95]
        s += x[96] + x[97] + x[98] + x[99] + x[100] + x[101] + x[102] + x[103] + x[104] + x[105] + x[106] + x[107]
        s += x[108] + x[109] + x[110] + x[111] + x[112] + x[113] + x[114] + x[115] + x[116] + x[117] + x[118] + x[119]
        s += x[120] + x[121] + x[122] + x[123] + x[124] + x[125] + x[126] + x[127] + x[128] + x[129] + x[130] + x[131]
        s += x[132] + x[133] + x[134] + x[135] + x[136] + x[137] + x[138] + x[139] + x[140] + x[141] + x[142] + x[143]
        s += x[144] + x[145] + x[146] + x[147] + x[148] + x[149] + x[150] + x[151] + x[152] + x[153] + x[154] + x[155]
        s += x[156] + x[157] + x[158] + x[159] + x[160] + x[161] + x[162] + x[163] + x[164] + x[165] + x[166] + x[167]
        s += x[168] + x[169] + x[170] + x[171] + x[172] + x[173] + x[174] + x[175] + x[176] + x[177] + x[178] + x[179]
        s += x[180] + x[181] + x[182] + x[183] + x[184] + x[185] + x[186] + x[187] + x[188] + x[189] + x[190] + x[191]
        s += x[192] + x[193] + x[194] + x[195] + x[196] + x[197] + x[198] + x[199] + x[200] + x[201] + x[202] + x[203]
        s += x[204] + x[205] + x[206] + x[207] + x[208] + x[209] + x[210] + x[211] + x[212] + x[213] + x[214] + x[215]
        s += x[216] + x[217] + x[218] + x[219] + x[220] + x[221] + x[222] + x[223] + x[224] + x[225] + x[226] + x[227]
        s += x[228] + x[229] + x[230] + x[231] + x[232] + x[233] + x[234] + x[235] + x[236] + x[237] + x[238] + x[239]
    except IndexError:
        s = 1.0
    return s


host_function = ingot.host(abs, result=float)
c_function = ctypes.CDLL(None).abs
c_function.argtypes, c_function.restype = [ctypes.c_int], ctypes.c_int
vectorized = ingot.vectorize(lambda x: np.array([x]))
counts = [1, 2]
count = ingot.host(lambda: counts.__setitem__(0, counts[0] + 1), result=None)


def reads_what_is_changed():
    first = counts[0]
    count()
    return first + len(counts)


def _nonlocal_names():
    kept = None

    def keeps_a_function(x):
        nonlocal kept
        kept = lambda: x

    def keeps_what_may_be_none(x):
        nonlocal kept
        kept = None if x > 2 else x

    return keeps_a_function, keeps_what_may_be_none


keeps_a_function, keeps_what_may_be_none = _nonlocal_names()


class Computing(types.ModuleType):
    @property
    def computed(self):
        return 1.0


computing = Computing("computing")


def tries_host(x):
    try:
        return host_function(x)
    except ValueError:
        return 0.0


class Failure(Exception):
    def __init__(self, code):
        super().__init__("code", code)


class Told(Exception):
    def __str__(self):
        return "told"


def text_of_own_making(x):
    try:
        raise Failure(len(x))
    except Failure as e:
        print(e)


def text_of_its_own(x):
    try:
        raise Told(len(x))
    except Told as e:
        print(e)


def lane_of_recursion(v):
    return ingot.axis_index("i") if v < 1 else lane_of_recursion(v - 1)


def sum_for_some(v):
    if v > 1:
        return v
    return ingot.psum(v, "i")


def sum_in_try(v):
    try:
        return ingot.psum(v, "i")
    except ValueError:
        return v


def sum_of_printed(v):
    print(v)
    return ingot.psum(v, "i")


def sum_of_written(row):
    row[0] = 1.0
    return ingot.psum(row, "i")


def sums_counted(x):
    count = [0]

    def lane(v):
        count.append(1)
        return ingot.psum(v, "i")

    return ingot.vmap(lane, axis_name="i")(x)


def leaves_of_positive(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    return ingot.tree.leaves(found)


def pushes(q, n):
    if n > 0:
        q.append(n)
        pushes(q, n - 1)
        pushes(q, n - 2)


def groups_by(d, x):
    for v in x:
        d[int(v)].append(v)

"""Rows of docs/language.md about members of Enums that are known only when the call runs, against CPython."""

import enum

import numpy as np
from support import check, jitted, refused

X = np.array([1.0, -2.0, 0.5, 3.0, -1.0, 4.0])


class State(enum.Enum):
    IDLE = "idle"
    RISING = 2
    DONE = 3.5
    FINISHED = 3.5  # another name of one

    def is_last(self):
        return self is State.DONE

    def next(self):
        return State.RISING if self is State.IDLE else State.DONE


class Level(enum.IntEnum):
    LOW = 1
    MIDDLE = 5
    HIGH = -3


class Odd(enum.Enum):
    A = 1
    B = 2

    def __eq__(self, other):
        return isinstance(other, Odd)

    __hash__ = None


class Bits(enum.Flag):
    A = 1
    B = 2


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2

    def __lt__(self, other):
        return self.value < other.value


class Never(np.float64, enum.Enum):
    ONE = 1.0

    def __bool__(self):
        return False


class Weight(float, enum.Enum):
    NONE = float("nan")
    ONE = 1.0


class Machine:
    def __init__(self):
        self.state = State.IDLE
        self.count = 0

    def step(self, v):
        if self.state is State.IDLE:
            if v < 0:
                self.state = State.RISING
        elif self.state is State.RISING:
            self.count += 1
            if v > 2:
                self.state = State.DONE


def test_members_are_state_of_loops():
    def counts(x):
        state = State.IDLE
        seen = [0, 0, 0]
        for v in x:
            if state is State.IDLE:
                seen[0] += 1
                if v < 0:
                    state = State.RISING
            elif state == State.RISING:
                seen[1] += 1
                if v > 2:
                    state = State.DONE
            elif state != State.IDLE:
                seen[2] += 1
        return seen, state

    check(counts, X)
    check(counts, X[:1])
    check(counts, X[:0])

    def until(x):
        state, i = State.IDLE, 0
        while state is not State.DONE:
            state = state.next() if x[i] > 0 else state
            i += 1
        return i, state, state.is_last()

    check(until, X)

    def matches(x):
        state, total = State.IDLE, 0.0
        for v in x:
            match state:
                case State.IDLE:
                    state = State.RISING if v < 0 else State.IDLE
                case State.RISING:
                    total += v
                    state = State.DONE
                case _:
                    total += 10 * v
        return total, state

    check(matches, X)

    def alternatives(x):
        state, seen = State.IDLE, []
        for v in x:
            match state:
                case State.IDLE | State.DONE if v > 0:
                    state = State.RISING
                case State.RISING as same:
                    if same is state:
                        state = State.DONE
                case State():
                    seen.append(state)
        return state, seen

    check(alternatives, X)

    def nested(n, state):
        return state if n == 0 else nested(n - 1, State.RISING if state is State.IDLE else State.IDLE)

    check(nested, 5, State.IDLE)


def test_members_are_attributes_and_elements():
    def made(x):
        machine = Machine()
        for v in x:
            machine.step(v)
        return machine.state, machine.count

    def given(machine, places, names, x):
        for v in x:
            machine.step(v)
        places[0] = names["last"] = machine.state
        return machine.count

    check(made, X)
    results = []
    for f in (given, jitted(given)):
        machine, places, names = Machine(), [State.IDLE], {"last": State.IDLE}
        results.append((f(machine, places, names, X), machine.state, places, names))
    assert results[0] == results[1] and results[1][1] is State.DONE

    def collected(x):
        state, states, counts, known = State.IDLE, [], {}, {s: 0 for s in State}
        for v in x:
            if v > 2:
                state = State.RISING
            states.append(state)
            counts[state] = counts.get(state, 0) + 1
            known[state] += 1
        return states, counts, known, states[1] is State.RISING, states.count(State.RISING), State.DONE in states, State.IDLE in counts

    check(collected, X)
    check(lambda x: [State.IDLE if v > 0 else State.RISING for v in x], X)

    def among(x):
        state, count = State.IDLE, 0
        for v in x:
            if state in {State.IDLE, State.DONE}:
                count += 1
            if state in State and State.DONE in State:
                count += 10
            if v > 2:
                state = State.RISING
        return count

    check(among, X)


def test_members_by_their_values():
    check(lambda a: [Level(v) for v in a], np.array([1, 5, -3]))
    check(lambda a: [Level(v) for v in a], np.array([1, 7, -3]))
    check(lambda v: State(v), 3.5)

    def matches(n):
        total = 0
        for k in range(n):
            match k:
                case Level.LOW:
                    total += 1
                case Level.MIDDLE:
                    total += 10
                case 3:
                    total += 100
        return total

    check(matches, 9)


def test_members_that_are_texts():
    def texts(x):
        colour, count = Colour.RED, 0
        for v in x:
            if colour == "red":
                count += 1
            if v > 2:
                colour = Colour.BLUE
        return count, colour, colour == Colour.BLUE, colour != "blue", colour in ("red", "x"), len(colour), f"{colour}", repr(colour)

    check(texts, X)
    check(texts, X[:2])

    def raises(x):
        state = State.IDLE
        for v in x:
            if v > 2:
                state = State.RISING
            if v > 3:
                raise ValueError(f"{state} at {v}", state)

    check(raises, X)


def test_members_are_compared_kept_and_returned():
    def chosen(x):
        a = State.RISING if x > 0 else State.DONE
        b = a if x > 1 else State.IDLE
        return a == b, a is b, a != State.IDLE, a in (State.IDLE, State.DONE), a == 2, a is None, [a, (b, {"s": a})], bool(a)

    for x in (2.0, 0.5, -1.0):
        check(chosen, x)
    check(lambda x: (Level.LOW if x > 0 else Level.HIGH).value + (Level.LOW if x > 0 else Level.HIGH), 1.0)
    check(lambda x: f"{State.IDLE if x > 0 else State.DONE!s:>12}", -1.0)

    def prints(x):
        state = State.IDLE if x > 0 else State.RISING
        print(state, repr(state), f"{state}")

    check(prints, 1.0)
    check(prints, -1.0)
    compiled = jitted(lambda x: State.IDLE if x > 0 else State.DONE)
    assert compiled(1.0) is State.IDLE and compiled(-1.0) is State.FINISHED


def test_members_are_keys_and_numbers():
    def looks_up(x):
        rates = {State.IDLE: 1.0, State.RISING: 2.5}
        state, total = State.IDLE, 0.0
        for v in x:
            total += rates[state]
            rates[state] = total
            if v > 2:
                state = State.RISING
        return total, rates

    check(looks_up, X)

    def misses(x):
        return {State.IDLE: 1.0}[State.IDLE if x > 0 else State.DONE]

    check(misses, 1.0)
    check(misses, -1.0)

    def numbers(x):
        level = Level.LOW
        a = np.zeros(len(x), np.int32)
        for i in range(len(x)):
            a[i] = level
            if x[i] > 2:
                level = Level.HIGH
            elif x[i] < 0:
                level = Level.MIDDLE
        return a, a == Level.MIDDLE, level, level > 0, level * 2, level == -3, x[level], [1.5, 2.5, 3.5, 4.5, 5.5, 6.5][level]

    check(numbers, X)
    check(numbers, X[:2])


def test_members_that_decide_by_themselves():
    def equal(x):
        odd = Odd.A if x > 0 else Odd.B
        return odd == Odd.A, odd is Odd.A

    check(equal, 1.0)
    check(equal, -1.0)

    def ordered(x):
        size, weight = Size.SMALL, Weight.ONE
        for v in x:
            if v > 2:
                size, weight = Size.LARGE, Weight.NONE
        return size < Size.LARGE, Size.SMALL < size, size > Size.SMALL, weight == weight, weight is Weight.NONE, weight + 1

    check(ordered, X)

    def raises(x, f):
        state = State.IDLE
        for v in x:
            if v > 2:
                state = State.RISING
        return f(state)

    check(lambda x: raises(x, lambda state: state < State.DONE), X)
    check(lambda x: raises(x, lambda state: state + 1), X)
    check(lambda x: raises(x, lambda state: -state), X)
    check(lambda x: raises(x, lambda state: x[state]), X)

    def flags(x):
        flag = Bits.A
        for v in x:
            if v > 2:
                flag = Bits.B
        return flag

    refused(flags, X)

    def several(x):
        member = State.IDLE
        for v in x:
            if v > 2:
                member = Level.LOW
        return member

    refused(several, X)

    def perhaps(x):
        member = None
        for v in x:
            if v > 2:
                member = State.IDLE
        return member

    refused(perhaps, X)
    refused(lambda x: raises(x, lambda state: state.name), X)


def test_a_members_own_truth_comes_before_that_of_its_number():
    check(lambda x: x[0] if Never.ONE else x[1], X)

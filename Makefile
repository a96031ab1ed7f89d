# tools/setup does what each target needs first, and nothing when that is done.
.PHONY: tour quick test test-all docs examples gallery gallery-times wheel sdist front bench derivatives fuzz odd accuracy format tidy

# All programs of the tour; ARGUMENTS are those of `python -m ingot tour`: --html FILE writes a report.
tour:
	@tools/setup tour
	@.venv/bin/python -m ingot tour $(ARGUMENTS)

# What a small change needs, within a minute: lint, build, some tests of what has changed, what may not grow.
quick:
	@tools/quick

test:
	@tools/setup test
	@.venv/bin/python tools/check release

# Debug and address-sanitizer builds over all tests, thread sanitizer over the C++ tests, clang-tidy, random programs.
test-all:
	@tools/setup test
	@.venv/bin/python tools/check debug tidy asan tsan fuzz

# The examples, which draw their pictures into docs/images: half a minute.
examples:
	@tools/setup examples
	@for example in predators_and_prey kalman_track acoustic_splitter; do \
	  echo "$$example"; .venv/bin/python examples/$$example.py docs/images/$$example.png || exit 1; \
	done

# The gallery's programs, which draw their pictures into docs/gallery/images: two minutes.
gallery:
	@tools/setup examples
	@.venv/bin/python examples/gallery/pictures.py $(ARGUMENTS)

# The gallery's programs next to NumPy, Numba and JAX, into docs/gallery: five minutes.
gallery-times:
	@tools/setup test
	@.venv/bin/python examples/gallery/times.py --page $(ARGUMENTS)

# The manual into build/site, with the code of its pages run; a warning is an error.
docs:
	@tools/setup docs
	@rm -rf build/site
	@.venv/bin/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "build/site/index.html"

# A wheel for manylinux_2_34 into dist, for .venv's Python, or for each of PYTHONS="python3.12 python3.13".
wheel:
	@tools/setup wheel
	@tools/wheel $(PYTHONS)

# The source distribution into dist.
sdist:
	@tools/setup wheel
	@.venv/bin/python -m build --sdist --no-isolation --outdir dist .

# Ingot, NumPy, Numba, JAX and C++, in interleaved rounds; ARGUMENTS are those of `python -m bench`. With
# ARGUMENTS="--page docs/benchmarks.md" it writes the manual's page.
bench:
	@tools/setup bench
	@.venv/bin/python -m bench $(ARGUMENTS)

# The program of the front page: its table in README.md, and its picture.
front:
	@tools/setup bench
	@.venv/bin/python -m bench.front $(ARGUMENTS)

# Derivatives of Ingot, JAX and C++, with one thread and two, into docs/derivative-speed.md: five minutes.
derivatives:
	@tools/setup test
	@.venv/bin/python -m bench.derivatives --threads 1
	@.venv/bin/python -m bench.derivatives --threads 2 --page

# Random programs against CPython and NumPy: N of them, from SEED; what differs is shrunk into build/fuzz.
fuzz: N ?= 1000
fuzz: SEED ?= 1
fuzz:
	@tools/setup
	@tools/fuzz --programs $(N) --seed $(SEED)

# Bad and odd argument lists for the programs of the tour: N of them, from SEED.
odd: N ?= 5000
odd: SEED ?= 1
odd:
	@tools/setup
	@tools/fuzz --odd --programs $(N) --seed $(SEED)

# Errors and times of the elementary functions into docs/accuracy.md: half an hour.
accuracy:
	@tools/setup test
	@cmake --build --preset release --target accuracy
	@.venv/bin/python tools/accuracy

format:
	@git ls-files -z '*.h' '*.cpp' | xargs -0 --no-run-if-empty clang-format-19 -i

# clang-tidy on what differs from origin/main.
tidy:
	@tools/setup test
	@tools/tidy

# tools/setup does what each target needs first, and nothing when that is done.
.PHONY: tour test test-all format tidy

tour:
	@tools/setup
	@.venv/bin/python -m ingot tour

test:
	@tools/setup test
	@.venv/bin/python tools/check release

# Debug and address-sanitizer builds over all tests, thread sanitizer over the C++ tests, clang-tidy.
test-all:
	@tools/setup test
	@.venv/bin/python tools/check debug tidy asan tsan

format:
	@git ls-files -z '*.h' '*.cpp' | xargs -0 --no-run-if-empty clang-format-19 -i

# clang-tidy on what differs from origin/main.
tidy:
	@tools/setup test
	@tools/tidy

"""`python -m ingot report SCRIPT ARGUMENTS`: runs a program, and writes one page about the functions that it compiled.

What it knows comes from who knows it already: `check --run` watches what is compiled and refused, `ingot.profile` counts calls and
seconds, `explain` has loops, nests and obstacles. Advice is chosen by the names of obstacles and causes (`_refusals/advice.py`), never by their words.
"""

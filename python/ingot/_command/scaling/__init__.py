"""`python -m ingot scaling`: what a machine gives a program on many ranks, from what is measured on a few."""

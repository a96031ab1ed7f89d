"""`python -m ingot`, and what notebooks have of it: a module for each command."""

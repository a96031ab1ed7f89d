"""Objects of Python's that programs use, as the compiler asks about them: which there are, what Python would do with them."""

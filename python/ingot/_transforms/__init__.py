"""Functions of functions: derivatives and batches."""

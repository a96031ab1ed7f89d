"""Simulated MPI: the ranks of a program as threads of one process, one of which runs at a time, and what is wrong with it.

`substitution` gives each rank its own view of the program, `communicator`, `requests` and `collectives` are what it calls,
`matching`, `scheduler` and `workers` run it once, `exploration` runs it for each matching, `findings` is what comes of it.
"""

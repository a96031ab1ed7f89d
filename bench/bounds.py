"""What bounds the forms under Ingot that a peer is faster at, found from their assembly: the page of benchmarks shows it."""

BOUNDS: dict[tuple[str, str], str] = {
}
"""By workload and form."""

"""What devices reach: bandwidth, sorts, launches, first calls, copies and products, timed by events, and whether the bits are right."""

"""Operations on arrays of devices outside of compiled functions: the functions that they are, and those that wait."""

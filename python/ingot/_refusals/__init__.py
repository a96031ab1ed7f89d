"""The texts of refusals: what to write instead, what was probably meant. Each module is loaded for a message of its kind."""

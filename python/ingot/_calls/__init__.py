"""Compiled functions: the decorator, what a call that is not known yet does, specialisations, tiers."""

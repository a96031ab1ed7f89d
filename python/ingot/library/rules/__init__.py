"""Derivative rules of NumPy's routines: Python that Ingot compiles and differentiates in turn.

`NAME_jvp(primals, tangents, ...)` gives what the routine gives and the tangent of that, both of the same structure; the
tangent is real-linear in the tangents. `NAME_vjp(primals, result, cotangent, ...)` gives a tuple of cotangents, one for
each primal, where that costs less than the transpose of the former; the pairing of a cotangent c and a tangent t is
Re(sum(c * t)). Options of the routine follow under their names. `docs/derivatives.md` has the conventions.
"""

"""Derivatives in compiled code."""

import ingot._transforms.derivatives as public

from .. import derivatives
from ..registry import implements

implements(public.jvp)(derivatives.jvp)
implements(public.linearize)(derivatives.linearize)
implements(public.jacfwd)(derivatives.jacfwd)
implements(public.jacrev)(derivatives.jacrev)
implements(public.hessian)(derivatives.hessian)
implements(public.checkpoint)(derivatives.checkpoint)
implements(public.vjp)(derivatives.vjp)
implements(public._kept)(derivatives.kept)
implements(public.value_and_grad)(derivatives.value_and_grad)
implements(public.grad)(derivatives.grad)
implements(public.hvp)(derivatives.hvp)
implements(public.stop_gradient)(derivatives.stop_gradient)

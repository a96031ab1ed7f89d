"""All programs, in the order in which they are shown."""

from .fits import FITS
from .models import MODELS
from .steps import STEPS

PROGRAMS = [*STEPS, *MODELS, *FITS]

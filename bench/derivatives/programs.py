"""All programs, in the order in which they are shown."""

from .models import MODELS
from .steps import STEPS

PROGRAMS = [*STEPS, *MODELS]

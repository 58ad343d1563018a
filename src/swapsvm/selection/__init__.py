"""Choosing parameters by cross-validation."""

from .svccv import SVCCV as SVCCV
from .svrcv import SVRCV as SVRCV

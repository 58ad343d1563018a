"""Choosing parameters by cross-validation."""

from .svccv import SVCCV

__all__ = ["SVCCV"]

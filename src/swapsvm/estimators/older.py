"""What scikit-learn before 1.9 does not have: callbacks."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn import __version__

Method = TypeVar("Method")


class CallbackSupportMixin:
    """No support: ``set_callbacks`` is not there, and says why."""

    @property
    def set_callbacks(self) -> Any:
        """Not there."""
        raise AttributeError(
            f"set_callbacks needs scikit-learn 1.9 or later, this is {__version__}; SVC(callbacks=...) works "
            "with every version"
        )


def with_callbacks(method: Method) -> Method:
    """There is nothing to tear down."""
    return method

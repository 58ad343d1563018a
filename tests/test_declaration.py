"""Parameters are declared once, and every estimator has a complete signature and docstring."""

import inspect
import re

import pytest
from sklearn.base import clone

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM
from swapsvm.estimators.declaration import estimator, parameter, same_parameter

ESTIMATORS = [SVC, SVR, OneClassSVM, SVDD, SVCCV, SVRCV]


def documented(cls):
    """The parameters in a docstring, with their defaults as they are written there."""
    section = cls.__doc__.partition("Parameters\n----------\n")[2].partition("\n\nAttributes\n")[0]
    return dict(re.findall(r"^(\w+) : .*, default=(.+)$", section, flags=re.MULTILINE))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_docstring_lists_every_parameter_in_the_order_of_the_signature(cls):
    signature = inspect.signature(cls).parameters
    assert list(documented(cls)) == list(signature)
    for name, default in documented(cls).items():
        shown = signature[name].default
        assert default == (f'"{shown}"' if isinstance(shown, str) else str(shown))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_is_explained(cls):
    section = cls.__doc__.partition("Parameters\n----------\n")[2].partition("\n\nAttributes\n")[0]
    entries = re.split(r"^(?=\w+ : )", section, flags=re.MULTILINE)[1:]
    assert all(len(entry.splitlines()) >= 2 and entry.splitlines()[1].startswith("    ") for entry in entries)
    assert "{parameters}" not in cls.__doc__


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameters_are_attributes(cls):
    names = list(inspect.signature(cls).parameters)
    values = {name: object() for name in names}
    model = cls(**values)
    assert model.get_params(deep=False) == values
    assert vars(cls()) == cls().get_params(deep=False)
    assert clone(cls()).get_params() == cls().get_params()


def test_own_parameters_come_first_and_defaults_can_change():
    @estimator
    class Base:
        """Base.

        {parameters}
        """

        first: int = parameter(default=1, kind="int", text="The first.", allowed=[object])
        second: str = parameter(default="a", kind="str", text="The second.", allowed=[object])

    @estimator
    class Derived(Base):
        """Derived.

        {parameters}
        """

        own: float = parameter(default=0.5, kind="float", text="Its own.", allowed=[object])
        second: str = same_parameter(Base, "second", default="b")

    assert list(inspect.signature(Derived).parameters) == ["second", "own", "first"]
    assert (Derived().first, Derived().second, Derived().own) == (1, "b", 0.5)
    assert inspect.cleandoc(Derived.__doc__).endswith("first : int, default=1\n    The first.")
    assert 'second : str, default="b"\n    The second.' in Derived.__doc__
    with pytest.raises(TypeError, match="third"):
        Derived(third=3)

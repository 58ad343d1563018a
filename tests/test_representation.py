"""The HTML representation links to the documentation that the installed package names, and to nothing else."""

import re
from email.message import Message
from importlib.metadata import PackageNotFoundError

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM
from swapsvm.dask import SVC as DaskSVC
from swapsvm.estimators import scikit


def publish(monkeypatch, *addresses):
    """Metadata with these project URLs."""
    found = Message()
    for address in addresses:
        found["Project-URL"] = address
    monkeypatch.setattr(scikit, "metadata", {"swapsvm": found}.__getitem__)
    scikit.site.cache_clear()


@pytest.fixture(autouse=True)
def forget():
    yield
    scikit.site.cache_clear()


def links(model):
    return [
        link for link in re.findall(r'href="([^"]*)"', estimator_html_repr(model)) if "scikit-learn.org" not in link
    ]


@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM, SVDD, SVCCV, SVRCV])
def test_an_estimator_links_to_its_page(cls, monkeypatch):
    publish(monkeypatch, "Source, https://example.org/code", "Documentation, https://example.org/docs/")
    page = f"https://example.org/docs/api/generated/swapsvm.{cls.__name__}.html"
    found = links(cls())
    assert found and {link.partition("#")[0] for link in found} == {page}
    assert page in links(make_pipeline(StandardScaler(), cls()))


def test_estimators_over_dask_have_pages_of_their_own(monkeypatch):
    publish(monkeypatch, "Documentation, https://example.org")
    assert "https://example.org/api/generated/swapsvm.dask.SVC.html" in links(DaskSVC())


def test_a_class_of_somebody_else_has_no_link(monkeypatch):
    class Own(SVC):
        pass

    publish(monkeypatch, "Documentation, https://example.org")
    assert not links(Own())


def test_without_a_published_site_there_is_no_link(monkeypatch):
    publish(monkeypatch, "Source, https://example.org/code")
    assert not links(SVC())
    assert "SVC" in estimator_html_repr(make_pipeline(StandardScaler(), SVC()))


def test_sources_without_metadata_have_no_link(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(scikit, "metadata", missing)
    scikit.site.cache_clear()
    assert not links(SVC())

"""scikit-learn's own estimator checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVR


@parametrize_with_checks([SVR(), SVR(epsilon="auto")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)

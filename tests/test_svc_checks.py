"""scikit-learn's own estimator checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVC


@parametrize_with_checks([SVC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)

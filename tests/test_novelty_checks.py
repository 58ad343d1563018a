"""scikit-learn's own estimator checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVDD, OneClassSVM


@parametrize_with_checks([OneClassSVM(), SVDD(), SVDD(kernel="linear", slack=0.1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)

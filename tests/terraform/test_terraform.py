"""What `./justw test` runs of terraform/: everything that needs no server. `just terraform-test` runs the rest too."""
import subprocess

import pytest

from cne_terraform import lint, roots, text


@pytest.fixture(scope="session")
def terraform():
    """Terraform with the providers that tools/terraform/setup builds when they are missing."""
    subprocess.run([roots.ROOT / "tools" / "terraform" / "setup"], check=True)
    with roots.scratch() as made:
        yield made


def test_modules_have_one_shape_and_true_readmes():
    """Standard files, tests, tables that follow from variables and outputs."""
    text.check_shape()


def test_every_condition_is_seen_to_fail():
    """A validation or precondition that no test expects to fail may guard nothing."""
    assert text.check_failures_are_tested() > 50


def test_pods_get_settings_that_their_binary_has():
    """A variable that is not in docs/configuration.md would stop the start."""
    assert text.check_settings() > 30


def test_drivers_get_keys_that_the_driver_has():
    """So would a key that the driver does not know be of no effect."""
    assert text.check_driver_keys() >= 5


def test_alerts_use_metrics_that_are_documented():
    """An alert on a metric that does not exist never fires."""
    assert text.check_metrics() >= 4


def test_format():
    """As `terraform fmt` writes it."""
    lint.formatted()


@pytest.mark.parametrize("where", roots.modules() + roots.examples())
def test_with_mocks(terraform, where):
    """Each root's own tests: what it makes, and what it refuses."""
    terraform.init(where)
    assert terraform.test(where) > 0

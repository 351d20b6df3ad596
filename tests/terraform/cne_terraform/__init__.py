"""Checks of terraform/: with mocks, against a local AWS API and against a real Kubernetes API server. `just terraform-test` runs them all."""

"""Executors with an identity of their own: web identity tokens, a real security token service and a real S3 server that enforce them."""

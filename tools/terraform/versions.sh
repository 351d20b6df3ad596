# Versions of what `just terraform-test` builds. Source it; it changes nothing.
# shellcheck shell=bash
# Released versions of providers are no Go modules: these are commits of the main branches behind 6.x and 3.x. The second number is the one
# under which the build lies in Terraform's file-system mirror; any that meets the modules' floors will do.
AWS_PROVIDER=v1.60.1-0.20260602190131-5f2286d6d836
AWS_PROVIDER_AS=6.99.0
AWS_SERVICES=(ec2 ecr eks iam kms logs meta s3 sts)
KUBERNETES_PROVIDER=v1.13.4-0.20260821094251-3a33fb6cc605
KUBERNETES_PROVIDER_AS=3.99.0
KUBERNETES=v1.34.4
TFLINT=v0.64.0
# Of these only the resource definitions are used.
KEDA=v2.21.0
KARPENTER=v1.12.0
PROMETHEUS_OPERATOR=v0.85.0

output "executor_role_arn" {
  description = "ARN of the executors' role"
  value       = aws_iam_role.executor.arn
}

output "scheduler_role_arn" {
  description = "ARN of the scheduler's role, which may do nothing"
  value       = aws_iam_role.scheduler.arn
}

output "executor_service_account" {
  description = "Name and annotations of the executors' service account, for module executor-pool"
  value = {
    name        = var.executor_service_account
    annotations = local.irsa ? { "eks.amazonaws.com/role-arn" = aws_iam_role.executor.arn } : {}
  }
  # Pods that start before the permissions are there would fail their first requests.
  depends_on = [aws_iam_role_policy.executor, aws_eks_pod_identity_association.this]
}

output "scheduler_service_account" {
  description = "Name and annotations of the scheduler's service account, for module scheduler"
  value = {
    name        = var.scheduler_service_account
    annotations = local.irsa ? { "eks.amazonaws.com/role-arn" = aws_iam_role.scheduler.arn } : {}
  }
  depends_on = [aws_iam_role_policy.scheduler, aws_eks_pod_identity_association.this]
}

output "oidc_provider_arn" {
  description = "ARN of the OIDC provider, null without irsa"
  value       = local.irsa ? local.oidc_arn : null
}

output "executor_policy_json" {
  description = "What executors may do, for review"
  value       = data.aws_iam_policy_document.executor.json
}

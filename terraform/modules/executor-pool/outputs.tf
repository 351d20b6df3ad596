output "deployment" {
  description = "Namespace and name of the Deployment"
  value       = { namespace = local.namespace, name = kubernetes_deployment_v1.this.metadata[0].name }
}

output "service_account" {
  description = "Name of the service account that the executors' role has to be bound to"
  value       = kubernetes_service_account_v1.this.metadata[0].name
}

output "termination_grace_seconds" {
  description = "After so many seconds Kubernetes kills an executor that was told to end"
  value       = var.drain_grace_seconds + 10
}

output "node_pools" {
  description = "Names of the NodePools, by capacity"
  value       = { for capacity, pool in kubernetes_manifest.node_pool : capacity => pool.manifest.metadata.name }
}

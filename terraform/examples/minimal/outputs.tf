output "url" {
  description = "The scheduler's URL for drivers in the cluster"
  value       = module.scheduler.url
}

output "ca" {
  description = "Where the CA is that drivers have to trust"
  value       = module.scheduler.ca
}

output "emr_on_eks" {
  description = "--configuration-overrides for EMR on EKS"
  value       = module.scheduler.emr_on_eks
}

output "spark_on_kubernetes" {
  description = "spark-defaults.conf for Spark on Kubernetes"
  value       = module.scheduler.spark_on_kubernetes
}

output "spark_submit" {
  description = "Arguments for spark-submit"
  value       = module.scheduler.spark_submit
}

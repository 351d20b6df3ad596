output "pool" {
  description = "What executors and monitors have to know of the scheduler, for modules executor-pool and observability"
  value = {
    scheduler_name    = var.name
    namespace         = var.namespace
    pool_name         = var.pool_name
    executor_address  = "${local.host}:${local.ports.executors}"
    scaler_address    = "${local.host}:${local.ports.scaler}"
    min_executors     = var.scale.min_executors
    max_executors     = var.scale.max_executors
    ticket_key        = var.ticket_key
    tls               = var.tls
    tenants           = var.tenants
    clients           = var.clients
    client_ranges     = try(var.load_balancer.source_ranges, [])
    scheduler_labels  = local.selector
    executor_labels   = local.executor_selector
    monitor_namespace = var.monitoring_namespace
  }
}

output "url" {
  description = "spark.comet.nativeExecutors.scheduler.url of drivers in the cluster"
  value       = local.url
}

output "outside_url" {
  description = "The same for drivers outside the cluster, by the load balancer; null without one, or until it has a name"
  value       = local.outside == null ? null : local.url_away
}

output "ca" {
  description = "Where the CA is that drivers have to trust (ca.crt in their own Secret), null without TLS"
  value       = local.tls ? { namespace = var.namespace, secret_name = var.tls.secret_name, key = var.tls.ca_key } : null
}

output "driver_settings" {
  description = "The settings as a map, without mounts, for drivers that get them in another way"
  value       = local.spark
}

output "emr_on_eks" {
  description = "For EMR on EKS: value of --configuration-overrides of start-job-run"
  value = jsonencode({
    applicationConfiguration = [{ classification = "spark-defaults", properties = merge(local.in_cluster, local.emr) }]
  })
}

output "emr_on_ec2" {
  description = "For EMR on EC2: content of --configurations of create-cluster. The files are expected on each node in driver.mount_path, the jars in driver.jar_directory"
  value       = jsonencode([{ Classification = "spark-defaults", Properties = merge(local.elsewhere, local.emr) }])
}

output "spark_on_kubernetes" {
  description = "For Spark on Kubernetes (master k8s://): content of spark-defaults.conf"
  value       = join("", [for k, v in local.in_cluster : "${k} ${v}\n"])
}

output "spark_submit" {
  description = "For spark-submit by hand: its arguments"
  value       = join(" ", [for k, v in local.elsewhere : "--conf ${k}=${v}"])
}

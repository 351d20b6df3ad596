# Everything the modules have: spot and on-demand nodes of the pool's own, tenants by token or certificate, buckets of other accounts, an
# internal load balancer for EMR on EC2, monitors and alerts. The cluster is there already: cluster/ makes one.

data "aws_eks_cluster" "this" {
  name = var.cluster_name
}

module "storage" {
  source = "../../modules/storage"

  bucket_name      = var.bucket_name
  access_log       = var.access_log_bucket == null ? null : { bucket = var.access_log_bucket }
  gateway_endpoint = { vpc_id = var.vpc_id, route_table_ids = var.route_table_ids }
  tags             = var.tags
}

module "identity" {
  source = "../../modules/identity"

  name                = "${var.cluster_name}-comet"
  cluster_name        = var.cluster_name
  namespace           = var.namespace
  methods             = ["irsa", "pod-identity"]
  oidc_issuer_url     = data.aws_eks_cluster.this.identity[0].oidc[0].issuer
  data_prefixes       = var.data_prefixes
  data_kms_key_arns   = var.data_kms_key_arns
  bucket_role_arns    = [for bucket in values(var.partner_buckets) : bucket.role_arn]
  shuffle_bucket_arn  = module.storage.bucket_arn
  shuffle_prefix      = module.storage.prefix
  shuffle_kms_key_arn = module.storage.kms_key_arn
  tags                = var.tags
}

module "scheduler" {
  source = "../../modules/scheduler"

  namespace            = var.namespace
  image                = var.scheduler_image
  service_account      = module.identity.scheduler_service_account
  ticket_key           = { secret_name = "comet-ticket" }
  tls                  = { secret_name = "comet-tls", server_name = "comet.pool", client_ca = { config_map_name = "comet-drivers-ca" } }
  tenants              = { secret_name = "comet-tenants" }
  clients              = [for name in sort(tolist(var.spark_namespaces)) : { namespace_labels = { "kubernetes.io/metadata.name" = name } }]
  load_balancer        = length(var.emr_ranges) == 0 ? null : { source_ranges = var.emr_ranges }
  monitoring_namespace = try(var.monitoring.namespace, null)
  scale                = { max_executors = 50, slots = 8, burst = 20 }
  node_selector        = { "karpenter.sh/capacity-type" = "on-demand" }
}

module "executors" {
  source = "../../modules/executor-pool"

  pool            = module.scheduler.pool
  image           = var.executor_image
  storage_url     = module.storage.storage_url
  service_account = module.identity.executor_service_account
  region          = var.region
  resources       = { cpu = 8, memory = "32Gi" }
  work_volume     = { size_gib = 200 }
  buckets         = var.partner_buckets
  node_pools      = { architectures = var.architectures, max_cpu = 400 }
}

module "observability" {
  source = "../../modules/observability"
  count  = var.monitoring == null ? 0 : 1

  pool           = module.scheduler.pool
  monitor_labels = var.monitoring.labels
}

# A pool in a cluster that is there: a bucket, two roles, the scheduler, and executors from none to max_executors.

data "aws_eks_cluster" "this" {
  name = var.cluster_name
}

module "storage" {
  source = "../../modules/storage"

  bucket_name = var.bucket_name
}

module "identity" {
  source = "../../modules/identity"

  name                = "${var.cluster_name}-comet"
  cluster_name        = var.cluster_name
  namespace           = var.namespace
  data_prefixes       = var.data_prefixes
  shuffle_bucket_arn  = module.storage.bucket_arn
  shuffle_prefix      = module.storage.prefix
  shuffle_kms_key_arn = module.storage.kms_key_arn
}

module "scheduler" {
  source = "../../modules/scheduler"

  namespace       = var.namespace
  image           = var.scheduler_image
  service_account = module.identity.scheduler_service_account
  ticket_key      = { secret_name = "comet-ticket" }
  tls             = { secret_name = "comet-tls", server_name = "comet.pool" }
  tenants         = { secret_name = "comet-tenants" }
  clients         = [{ namespace_labels = { "kubernetes.io/metadata.name" = var.spark_namespace } }]
  scale           = { max_executors = var.max_executors }
}

module "executors" {
  source = "../../modules/executor-pool"

  pool            = module.scheduler.pool
  image           = var.executor_image
  storage_url     = module.storage.storage_url
  service_account = module.identity.executor_service_account
  region          = var.region
}

# Applied by `just terraform-test` against a real Kubernetes API server: the modules that make Kubernetes objects, with everything they have
# (pool "full"), and with their defaults in plain text ("plain").

terraform {
  required_version = ">= 1.9"

  required_providers {
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.36"
    }
  }
}

variable "host" {
  description = "URL of the API server"
  type        = string
}

variable "token" {
  description = "Token of its administrator"
  type        = string
  sensitive   = true
}

provider "kubernetes" {
  host     = var.host
  token    = var.token
  insecure = true
}

module "full_scheduler" {
  source = "../../modules/scheduler"

  namespace            = "full"
  image                = "registry.example/comet-scheduler:1.0.0"
  service_account      = { annotations = { "eks.amazonaws.com/role-arn" = "arn:aws:iam::111122223333:role/tests-scheduler" } }
  ticket_key           = { secret_name = "comet-ticket" }
  tls                  = { secret_name = "comet-tls", server_name = "comet.pool", client_ca = { config_map_name = "comet-drivers-ca" } }
  tenants              = { secret_name = "comet-tenants" }
  clients              = [{ namespace_labels = { "kubernetes.io/metadata.name" = "spark" }, pod_labels = { "spark-role" = "driver" } }]
  load_balancer        = { source_ranges = ["192.0.2.0/24"], wait = false }
  monitoring_namespace = "monitoring"
  node_selector        = { "karpenter.sh/capacity-type" = "on-demand" }
  tolerations          = [{ key = "dedicated", value = "schedulers" }]
  settings             = { CNE_MAX_QUERIES = "200" }
  wait_for_rollout     = false
}

module "full_executors" {
  source = "../../modules/executor-pool"

  pool            = module.full_scheduler.pool
  image           = "registry.example/comet-executor@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  storage_url     = "s3://shuffle-of-tests/comet"
  service_account = { annotations = { "eks.amazonaws.com/role-arn" = "arn:aws:iam::111122223333:role/tests-executor" } }
  region          = "eu-central-1"
  work_volume     = { size_gib = 100, storage_class = "gp3" }
  buckets         = { default = { region = "eu-central-1" }, partner = { role_arn = "arn:aws:iam::444455556666:role/partner", external_id = "id" } }
  node_pools      = { architectures = ["amd64", "arm64"] }
  settings        = { CNE_FETCH_WINDOW = "2MiB" }
}

module "full_observability" {
  source = "../../modules/observability"

  pool           = module.full_scheduler.pool
  monitor_labels = { release = "prometheus" }
}

module "plain_scheduler" {
  source = "../../modules/scheduler"

  namespace        = "plain"
  image            = "registry.example/comet-scheduler:1.0.0"
  ticket_key       = { secret_name = "comet-ticket" }
  allow_plaintext  = true
  driver           = { auth = "none" }
  clients          = [{ namespace_labels = { "kubernetes.io/metadata.name" = "plain" } }]
  wait_for_rollout = false
}

module "plain_executors" {
  source = "../../modules/executor-pool"

  pool        = module.plain_scheduler.pool
  image       = "registry.example/comet-executor:1.0.0"
  storage_url = "s3://shuffle-of-tests/plain"
}

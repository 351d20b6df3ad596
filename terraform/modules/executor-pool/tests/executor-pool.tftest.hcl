mock_provider "kubernetes" {}

variables {
  image       = "registry.example/comet-executor:1.0.0"
  storage_url = "s3://shuffle-of-tests/comet"
  pool = {
    scheduler_name   = "comet-scheduler"
    namespace        = "comet"
    pool_name        = "default"
    executor_address = "comet-scheduler.comet.svc:50051"
    scaler_address   = "comet-scheduler.comet.svc:50054"
    min_executors    = 0
    max_executors    = 7
    ticket_key       = { secret_name = "comet-ticket", key = "ticket-key" }
    tls = {
      secret_name = "comet-tls", server_name = "comet.pool", cert_key = "tls.crt", key_key = "tls.key", ca_key = "ca.crt"
    }
    tenants          = { secret_name = "comet-tenants", key = "tenants.toml" }
    clients          = [{ namespace_labels = { "kubernetes.io/metadata.name" = "spark" }, pod_labels = {} }]
    scheduler_labels = { "app.kubernetes.io/name" = "comet-scheduler" }
    executor_labels  = { "app.kubernetes.io/name" = "comet-executor" }
  }
}

run "defaults" {
  command = plan
  assert {
    condition     = kubernetes_manifest.scaled_object.manifest.spec.minReplicaCount == 0 && kubernetes_manifest.scaled_object.manifest.spec.maxReplicaCount == 7
    error_message = "the pool does not scale from 0 to the scheduler's most"
  }
  assert {
    condition     = kubernetes_manifest.scaled_object.manifest.spec.triggers[0].metadata == { scalerAddress = "comet-scheduler.comet.svc:50054", enableTLS = "true" } && kubernetes_manifest.scaler_ca[0].manifest.spec.secretTargetRef[0].key == "ca.crt"
    error_message = "KEDA does not ask the scheduler over TLS"
  }
  assert {
    condition     = kubernetes_deployment_v1.this.spec[0].template[0].spec[0].termination_grace_period_seconds == 120 && { for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name => e.value }["CNE_DRAIN_GRACE"] == "110s"
    error_message = "Kubernetes kills an executor that still drains"
  }
  assert {
    condition = alltrue([
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].security_context[0].run_as_non_root,
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].security_context[0].run_as_user == "65532",
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].security_context[0].read_only_root_filesystem,
      !kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].security_context[0].allow_privilege_escalation,
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].security_context[0].capabilities[0].drop == tolist(["ALL"]),
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].security_context[0].seccomp_profile[0].type == "RuntimeDefault",
    ])
    error_message = "the pod has rights that it does not need"
  }
  assert {
    condition     = kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].resources[0].limits["memory"] == kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].resources[0].requests["memory"]
    error_message = "memory that is not reserved can be taken away"
  }
  assert {
    condition     = length(kubernetes_deployment_v1.this.spec[0].template[0].spec[0].topology_spread_constraint) == 2
    error_message = "executors are not spread over zones and nodes"
  }
  assert {
    condition     = { for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name => e.value }["CNE_SPILL_QUOTA"] == "30GiB" && { for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name => e.value }["CNE_LOCAL_QUOTA"] == "15GiB"
    error_message = "the quotas fill the volume"
  }
  assert {
    condition     = contains([for e in kubernetes_network_policy_v1.this.spec[0].egress : try(e.to[0].ip_block[0].except, null)], tolist(["169.254.0.0/16"]))
    error_message = "executors reach the metadata of their node"
  }
  assert {
    condition     = length(kubernetes_manifest.node_pool) == 0 && length(kubernetes_config_map_v1.buckets) == 0
    error_message = "there are objects that nobody asked for"
  }
}

run "spot_and_on_demand" {
  command = plan
  variables {
    node_pools = {}
  }
  assert {
    condition     = kubernetes_manifest.node_pool["spot"].manifest.spec.weight > kubernetes_manifest.node_pool["on-demand"].manifest.spec.weight
    error_message = "on-demand is tried before spot"
  }
  assert {
    condition     = kubernetes_deployment_v1.this.spec[0].template[0].spec[0].node_selector["comet-native-executors/pool"] == "comet-executor" && contains([for t in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].toleration : t.key], "comet-native-executors/pool")
    error_message = "executors do not go to their own nodes"
  }
  assert {
    condition     = alltrue([for p in kubernetes_manifest.node_pool : p.manifest.spec.disruption.consolidationPolicy == "WhenEmpty"])
    error_message = "nodes are taken from under running tasks"
  }
  assert {
    condition     = output.node_pools == { spot = "comet-executor-spot", on-demand = "comet-executor-on-demand" }
    error_message = "the names of the pools are not given"
  }
}

run "own_karpenter" {
  command = plan
  variables {
    node_pools = { capacity = ["on-demand"], architectures = ["arm64"], node_class = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "comet" } }

    drain_grace_seconds = 600
  }
  assert {
    condition     = contains([for r in kubernetes_manifest.node_pool["on-demand"].manifest.spec.template.spec.requirements : r.key], "karpenter.k8s.aws/instance-category")
    error_message = "the requirements are those of EKS Auto Mode"
  }
  assert {
    condition     = output.termination_grace_seconds == 610
    error_message = "the grace does not follow the drain"
  }
}

run "buckets" {
  command = plan
  variables {
    buckets = {
      default = { region = "eu-central-1" }
      partner = { role_arn = "arn:aws:iam::444455556666:role/partner", external_id = "a \"quoted\" id", requester_pays = true }
    }
    work_volume = { size_gib = 100, storage_class = "gp3" }
  }
  assert {
    condition     = kubernetes_config_map_v1.buckets[0].data["buckets.toml"] == "[default]\nregion = \"eu-central-1\"\n\n[buckets.\"partner\"]\nexternal_id = \"a \\\"quoted\\\" id\"\nrequester_pays = true\nrole_arn = \"arn:aws:iam::444455556666:role/partner\"\n"
    error_message = "the file of buckets is another one"
  }
  assert {
    condition     = one([for v in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].volume : v.ephemeral[0].volume_claim_template[0].spec[0].storage_class_name if v.name == "work"]) == "gp3"
    error_message = "the work volume is not of the storage class"
  }
}

run "plaintext" {
  command = plan
  variables {
    pool = {
      scheduler_name   = "comet-scheduler"
      namespace        = "comet"
      pool_name        = "default"
      executor_address = "comet-scheduler.comet.svc:50051"
      scaler_address   = "comet-scheduler.comet.svc:50054"
      min_executors    = 1
      max_executors    = 7
      ticket_key       = { secret_name = "comet-ticket", key = "ticket-key" }
      clients          = []
      client_ranges    = ["192.0.2.0/24"]
      scheduler_labels = { "app.kubernetes.io/name" = "comet-scheduler" }
      executor_labels  = { "app.kubernetes.io/name" = "comet-executor" }
    }
  }
  assert {
    condition     = length(kubernetes_manifest.scaler_ca) == 0 && !contains(keys(kubernetes_manifest.scaled_object.manifest.spec.triggers[0]), "authenticationRef")
    error_message = "KEDA looks for a CA that is not there"
  }
  assert {
    condition     = contains([for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name], "CNE_ALLOW_PLAINTEXT")
    error_message = "executors would refuse their addresses"
  }
}

run "spot_with_a_long_drain" {
  command = plan
  variables {
    node_pools          = {}
    drain_grace_seconds = 300
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "setting_said_twice" {
  command = plan
  variables {
    settings = { CNE_HOST = "here" }
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "service_account_of_the_scheduler" {
  command = plan
  variables {
    service_account = { name = "comet-scheduler" }
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "directory_for_a_store" {
  command = plan
  variables {
    storage_url = "file:///data"
  }
  expect_failures = [var.storage_url]
}

run "no_node_could_be_drained" {
  command = plan
  variables {
    max_unavailable = "0"
  }
  expect_failures = [var.max_unavailable]
}

run "every_bucket_public" {
  command = plan
  variables {
    buckets = { default = { anonymous = true } }
  }
  expect_failures = [var.buckets]
}

run "unknown_capacity" {
  command = plan
  variables {
    node_pools = { capacity = ["reserved"] }
  }
  expect_failures = [var.node_pools]
}

run "bad_values" {
  command = plan
  variables {
    image               = "registry.example/comet-executor"
    name                = "Executor"
    region              = "Frankfurt"
    resources           = { cpu = 1.5 }
    work_volume         = { size_gib = 1 }
    drain_grace_seconds = 1
    polling_seconds     = 0
    store_ranges        = ["everything"]
    log_level           = "loud"
    settings            = { path = "x" }
    tolerations         = [{ key = "x", effect = "Never" }]
  }
  expect_failures = [
    var.image, var.name, var.region, var.resources, var.work_volume, var.drain_grace_seconds, var.polling_seconds, var.store_ranges, var.log_level,
    var.settings, var.tolerations,
  ]
}

mock_provider "kubernetes" {}

variables {
  namespace        = "comet"
  image            = "registry.example/comet-scheduler:1.0.0"
  ticket_key       = { secret_name = "comet-ticket" }
  clients          = [{ namespace_labels = { "kubernetes.io/metadata.name" = "spark" } }]
  tls              = { secret_name = "comet-tls", server_name = "comet.pool" }
  tenants          = { secret_name = "comet-tenants" }
  wait_for_rollout = false
}

run "with_tenants" {
  assert {
    condition     = kubernetes_deployment_v1.this.spec[0].replicas == "1" && kubernetes_deployment_v1.this.spec[0].strategy[0].type == "Recreate"
    error_message = "there could be two schedulers at a time"
  }
  assert {
    condition = alltrue([
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].security_context[0].run_as_non_root,
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].security_context[0].read_only_root_filesystem,
      !kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].security_context[0].allow_privilege_escalation,
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].security_context[0].capabilities[0].drop == tolist(["ALL"]),
      kubernetes_deployment_v1.this.spec[0].template[0].spec[0].security_context[0].seccomp_profile[0].type == "RuntimeDefault",
      !kubernetes_deployment_v1.this.spec[0].template[0].spec[0].automount_service_account_token,
    ])
    error_message = "the pod has rights that it does not need"
  }
  assert {
    condition     = { for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name => e.value }["CNE_TICKET_KEY_FILE"] == "/etc/comet/ticket/ticket-key"
    error_message = "the ticket key is not a mounted file"
  }
  assert {
    condition     = !contains([for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name], "CNE_ALLOW_PLAINTEXT")
    error_message = "plain text is allowed beside TLS"
  }
  assert {
    condition     = kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].resources[0].limits["memory"] == "4Gi" && kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].resources[0].requests["cpu"] == "2"
    error_message = "requests and limits are not those of resources"
  }
  assert {
    condition     = toset([for v in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].volume : v.name]) == toset(["ticket", "tls", "tenants", "work"])
    error_message = "other volumes are mounted"
  }
  assert {
    condition     = output.url == "grpc+tls://comet-scheduler.comet.svc.cluster.local:50050" && output.outside_url == null
    error_message = "drivers get another URL"
  }
  assert {
    condition     = jsondecode(output.emr_on_eks).applicationConfiguration[0].properties["spark.kubernetes.executor.secrets.comet-driver"] == "/etc/comet/driver"
    error_message = "Spark executors read rows: they need the CA and the token too"
  }
  assert {
    condition     = jsondecode(output.emr_on_ec2)[0].Properties["spark.comet.nativeExecutors.auth.tokenFile"] == "/etc/comet/driver/token"
    error_message = "EMR on EC2 gets no token"
  }
  assert {
    condition     = strcontains(output.spark_on_kubernetes, "spark.comet.nativeExecutors.tls.serverName comet.pool\n") && strcontains(output.spark_submit, "--conf spark.comet.nativeExecutors.tls.ca=/etc/comet/driver/ca.crt")
    error_message = "a driver would not know whom to trust"
  }
  assert {
    condition     = output.ca == { namespace = "comet", secret_name = "comet-tls", key = "ca.crt" }
    error_message = "the CA is said to be elsewhere"
  }
  assert {
    condition     = length([for i in kubernetes_network_policy_v1.this.spec[0].ingress : i if length(i.from) == 0]) == 0
    error_message = "a port is open to everybody"
  }
}

run "certificates_and_a_load_balancer" {
  variables {
    tls           = { secret_name = "comet-tls", server_name = "comet.pool", client_ca = { config_map_name = "drivers-ca" } }
    tenants       = null
    driver        = { auth = "certificate", emr_class_path = "/usr/lib/emr/*" }
    load_balancer = { source_ranges = ["192.0.2.0/24"], wait = false }

    monitoring_namespace = "monitoring"
  }
  assert {
    condition     = { for e in kubernetes_deployment_v1.this.spec[0].template[0].spec[0].container[0].env : e.name => e.value }["CNE_TLS_CLIENT_CA"] == "/etc/comet/client-ca/ca.crt"
    error_message = "the CA of drivers is not read"
  }
  assert {
    condition     = kubernetes_service_v1.drivers[0].metadata[0].annotations["service.beta.kubernetes.io/aws-load-balancer-scheme"] == "internal" && length(kubernetes_service_v1.drivers[0].spec[0].port) == 1
    error_message = "the load balancer is public, or gives more than the drivers' port"
  }
  assert {
    condition     = output.driver_settings["spark.comet.nativeExecutors.tls.key"] == "/etc/comet/driver/tls.key" && !contains(keys(output.driver_settings), "spark.comet.nativeExecutors.auth.tokenFile")
    error_message = "drivers show another thing than a certificate"
  }
  assert {
    condition     = startswith(jsondecode(output.emr_on_ec2)[0].Properties["spark.driver.extraClassPath"], "/usr/lib/emr/*:/opt/comet/") && startswith(output.driver_settings["spark.driver.extraClassPath"], "/opt/comet/")
    error_message = "EMR loses its own class path, or others get it"
  }
  assert {
    condition     = length(kubernetes_network_policy_v1.this.spec[0].ingress) == 4
    error_message = "metrics cannot be read"
  }
}

run "plaintext_that_is_meant" {
  variables {
    tls             = null
    tenants         = null
    allow_plaintext = true
    driver          = { auth = "none" }
  }
  assert {
    condition     = output.url == "grpc://comet-scheduler.comet.svc.cluster.local:50050" && output.ca == null && output.driver_settings["spark.comet.nativeExecutors.allowPlaintext"] == "true"
    error_message = "the settings are of a pool with TLS"
  }
}

run "plaintext_by_accident" {
  command = plan
  variables {
    tls     = null
    tenants = null
    driver  = { auth = "none" }
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "tenants_in_plain_text" {
  command = plan
  variables {
    tls             = null
    allow_plaintext = true
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "tls_that_lets_nobody_in" {
  command = plan
  variables {
    tenants = null
    driver  = { auth = "none" }
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "token_that_nobody_knows" {
  command = plan
  variables {
    tls     = { secret_name = "comet-tls", server_name = "comet.pool", client_ca = { config_map_name = "drivers-ca" } }
    tenants = null
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "setting_said_twice" {
  command = plan
  variables {
    settings = { CNE_POOL_NAME = "other" }
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "nobody_may_submit" {
  command = plan
  variables {
    clients = []
  }
  expect_failures = [kubernetes_deployment_v1.this]
}

run "ticket_key_as_a_value" {
  command = plan
  variables {
    settings = { CNE_TICKET_KEY = "k1:00112233445566778899aabbccddeeff" }
  }
  expect_failures = [var.settings]
}

run "setting_of_another_program" {
  command = plan
  variables {
    settings = { RUST_LOG = "debug" }
  }
  expect_failures = [var.settings]
}

run "image_that_moves" {
  command = plan
  variables {
    image = "registry.example/comet-scheduler:latest"
  }
  expect_failures = [var.image]
}

run "every_namespace_a_client" {
  command = plan
  variables {
    clients = [{ namespace_labels = {} }]
  }
  expect_failures = [var.clients]
}

run "open_to_the_internet" {
  command = plan
  variables {
    load_balancer = { source_ranges = ["0.0.0.0/0"] }
  }
  expect_failures = [var.load_balancer]
}

run "smallest_above_largest" {
  command = plan
  variables {
    scale = { min_executors = 5, max_executors = 2 }
  }
  expect_failures = [var.scale]
}

run "no_duration" {
  command = plan
  variables {
    scale = { cool_down = "60" }
  }
  expect_failures = [var.scale]
}

run "bad_values" {
  command = plan
  variables {
    namespace  = "Comet"
    name       = "comet_scheduler"
    pool_name  = "a pool"
    durability = "disk"
    log_level  = "loud"
    resources  = { cpu = "two" }
    tls        = { secret_name = "comet-tls", server_name = "https://comet" }
    driver     = { auth = "password" }
    tolerations = [{
      key      = "x"
      operator = "Like"
    }]
  }
  expect_failures = [
    var.namespace, var.name, var.pool_name, var.durability, var.log_level, var.resources, var.tls, var.driver, var.tolerations,
  ]
}

locals {
  selector = {
    "app.kubernetes.io/name"     = "comet-scheduler"
    "app.kubernetes.io/instance" = var.name
  }
  labels = merge(var.labels, local.selector, {
    "app.kubernetes.io/component"  = "scheduler"
    "app.kubernetes.io/part-of"    = "comet-native-executors"
    "app.kubernetes.io/managed-by" = "terraform"
  })
  executor_selector = {
    "app.kubernetes.io/name"           = "comet-executor"
    "comet-native-executors/scheduler" = var.name
  }
  ports = { drivers = 50050, executors = 50051, http = 50053, scaler = 50054 }
  host  = "${var.name}.${var.namespace}.svc"
  tls   = var.tls != null

  environment = merge(
    {
      CNE_SCHEDULER_FLIGHT_ADDRESS   = "0.0.0.0:${local.ports.drivers}"
      CNE_SCHEDULER_EXECUTOR_ADDRESS = "0.0.0.0:${local.ports.executors}"
      CNE_SCHEDULER_HTTP_ADDRESS     = "0.0.0.0:${local.ports.http}"
      CNE_SCALER_ADDRESS             = "0.0.0.0:${local.ports.scaler}"
      CNE_SCALE_MIN_EXECUTORS        = tostring(var.scale.min_executors)
      CNE_SCALE_MAX_EXECUTORS        = tostring(var.scale.max_executors)
      CNE_SCALE_SLOTS                = tostring(var.scale.slots)
      CNE_SCALE_PATIENCE             = var.scale.patience
      CNE_SCALE_COOL_DOWN            = var.scale.cool_down
      CNE_SCALE_BURST                = tostring(var.scale.burst)
      CNE_SCALE_BURST_PERIOD         = var.scale.burst_period
      CNE_POOL_NAME                  = var.pool_name
      CNE_TICKET_KEY_FILE            = "/etc/comet/ticket/${var.ticket_key.key}"
      CNE_DURABILITY                 = var.durability
      CNE_LOG_LEVEL                  = var.log_level
      CNE_LOG_FORMAT                 = "json"
    },
    local.tls ? {
      CNE_TLS_CERT        = "/etc/comet/tls/${var.tls.cert_key}"
      CNE_TLS_KEY         = "/etc/comet/tls/${var.tls.key_key}"
      CNE_TLS_CA          = "/etc/comet/tls/${var.tls.ca_key}"
      CNE_TLS_SERVER_NAME = var.tls.server_name
      CNE_SCALER_TLS      = "true"
    } : { CNE_ALLOW_PLAINTEXT = "true" },
    try(var.tls.client_ca, null) == null ? {} : { CNE_TLS_CLIENT_CA = "/etc/comet/client-ca/${var.tls.client_ca.key}" },
    var.tenants == null ? {} : { CNE_TENANTS_FILE = "/etc/comet/tenants/${var.tenants.key}" },
  )
  taken = sort(tolist(setintersection(keys(var.settings), keys(local.environment))))

  # Volumes by name. All are folders, not single files: a changed Secret comes through, and the processes read certificates and tenants again.
  secrets = merge(
    { ticket = var.ticket_key.secret_name },
    local.tls ? { tls = var.tls.secret_name } : {},
    var.tenants == null ? {} : { tenants = var.tenants.secret_name },
  )
  config_maps = try(var.tls.client_ca, null) == null ? {} : { client-ca = var.tls.client_ca.config_map_name }
}

# What the driver is told, by where it runs.
locals {
  scheme   = local.tls ? "grpc+tls" : "grpc"
  outside  = try(kubernetes_service_v1.drivers[0].status[0].load_balancer[0].ingress[0].hostname, null)
  url      = "${local.scheme}://${local.host}.cluster.local:${local.ports.drivers}"
  jars     = join(":", [for jar in [var.driver.comet_jar, var.driver.driver_jar] : "${var.driver.jar_directory}/${jar}"])
  files    = var.driver.mount_path
  prefix   = "spark.comet.nativeExecutors"
  url_away = local.outside == null ? local.url : "${local.scheme}://${local.outside}:${local.ports.drivers}"

  spark = merge(
    {
      "spark.plugins"                 = "org.apache.spark.CometPlugin,org.apache.comet.nativeexecutors.NativeExecutorsPlugin"
      "spark.sql.extensions"          = "org.apache.comet.CometSparkSessionExtensions,org.apache.comet.nativeexecutors.NativeExecutorsExtension"
      "spark.shuffle.manager"         = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"
      "spark.memory.offHeap.enabled"  = "true"
      "spark.memory.offHeap.size"     = var.driver.off_heap_bytes
      "spark.driver.extraClassPath"   = local.jars
      "spark.executor.extraClassPath" = local.jars
      "${local.prefix}.enabled"       = "true"
      "${local.prefix}.scheduler.url" = local.url
    },
    local.tls ? {
      "${local.prefix}.tls.ca"         = "${local.files}/ca.crt"
      "${local.prefix}.tls.serverName" = var.tls.server_name
    } : { "${local.prefix}.allowPlaintext" = "true" },
    var.driver.auth == "token" ? { "${local.prefix}.auth.tokenFile" = "${local.files}/token" } : {},
    var.driver.auth == "certificate" ? {
      "${local.prefix}.tls.cert" = "${local.files}/tls.crt"
      "${local.prefix}.tls.key"  = "${local.files}/tls.key"
    } : {},
  )
  mounts = local.tls || var.driver.auth != "none" ? {
    "spark.kubernetes.driver.secrets.${var.driver.secret_name}"   = local.files
    "spark.kubernetes.executor.secrets.${var.driver.secret_name}" = local.files
  } : {}
  in_cluster = merge(local.spark, local.mounts)
  emr_jars   = join(":", compact([var.driver.emr_class_path, local.jars]))
  emr = {
    "spark.driver.extraClassPath"   = local.emr_jars
    "spark.executor.extraClassPath" = local.emr_jars
  }
  elsewhere = merge(local.spark, { "${local.prefix}.scheduler.url" = local.url_away })
}

resource "kubernetes_service_account_v1" "this" {
  metadata {
    name        = var.service_account.name
    namespace   = var.namespace
    labels      = local.labels
    annotations = var.service_account.annotations
  }

  automount_service_account_token = false
}

resource "kubernetes_deployment_v1" "this" {
  #checkov:skip=CKV_K8S_10:requests and limits are set from var.resources, which the scanner does not follow; asserted in tests
  #checkov:skip=CKV_K8S_11:requests and limits are set from var.resources, which the scanner does not follow; asserted in tests
  #checkov:skip=CKV_K8S_12:requests and limits are set from var.resources, which the scanner does not follow; asserted in tests
  #checkov:skip=CKV_K8S_13:requests and limits are set from var.resources, which the scanner does not follow; asserted in tests
  #checkov:skip=CKV_K8S_14:the image is the caller's; its variable refuses latest and no tag
  #checkov:skip=CKV_K8S_15:tags do not move: an image that the node has is the right one, and starts without the registry
  #checkov:skip=CKV_K8S_43:a digest is the caller's choice; the variable takes it
  metadata {
    name      = var.name
    namespace = var.namespace
    labels    = local.labels
  }

  wait_for_rollout = var.wait_for_rollout

  spec {
    # One, and never two at a time: it holds the running queries. Drivers wait for the next one.
    replicas = 1

    strategy {
      type = "Recreate"
    }

    selector {
      match_labels = local.selector
    }

    template {
      metadata {
        labels = local.labels
        annotations = merge(
          {
            "karpenter.sh/do-not-disrupt"                    = "true"
            "cluster-autoscaler.kubernetes.io/safe-to-evict" = "false"
          },
          var.pod_annotations,
        )
      }

      spec {
        service_account_name             = kubernetes_service_account_v1.this.metadata[0].name
        automount_service_account_token  = false
        enable_service_links             = false
        termination_grace_period_seconds = 30
        node_selector                    = var.node_selector

        security_context {
          run_as_non_root = true
          run_as_user     = 65532
          run_as_group    = 65532
          fs_group        = 65532

          seccomp_profile {
            type = "RuntimeDefault"
          }
        }

        dynamic "toleration" {
          for_each = var.tolerations

          content {
            key      = toleration.value.key
            operator = toleration.value.operator
            value    = toleration.value.value
            effect   = toleration.value.effect
          }
        }

        container {
          name              = "scheduler"
          image             = var.image
          image_pull_policy = "IfNotPresent"

          dynamic "env" {
            for_each = merge(local.environment, var.settings)

            content {
              name  = env.key
              value = env.value
            }
          }

          dynamic "port" {
            for_each = local.ports

            content {
              name           = port.key
              container_port = port.value
            }
          }

          resources {
            requests = { cpu = var.resources.cpu, memory = var.resources.memory }
            limits   = { cpu = var.resources.cpu, memory = var.resources.memory }
          }

          security_context {
            allow_privilege_escalation = false
            privileged                 = false
            read_only_root_filesystem  = true
            run_as_non_root            = true
            run_as_user                = 65532

            capabilities {
              drop = ["ALL"]
            }

            seccomp_profile {
              type = "RuntimeDefault"
            }
          }

          readiness_probe {
            period_seconds    = 5
            timeout_seconds   = 3
            failure_threshold = 3

            http_get {
              path = "/readyz"
              port = "http"
            }
          }

          liveness_probe {
            initial_delay_seconds = 10
            period_seconds        = 10
            timeout_seconds       = 5
            failure_threshold     = 6

            http_get {
              path = "/healthz"
              port = "http"
            }
          }

          dynamic "volume_mount" {
            for_each = toset(concat(keys(local.secrets), keys(local.config_maps)))

            content {
              name       = volume_mount.value
              mount_path = "/etc/comet/${volume_mount.value}"
              read_only  = true
            }
          }

          volume_mount {
            name       = "work"
            mount_path = "/work"
          }
        }

        dynamic "volume" {
          for_each = local.secrets

          content {
            name = volume.key

            secret {
              secret_name  = volume.value
              default_mode = "0440"
            }
          }
        }

        dynamic "volume" {
          for_each = local.config_maps

          content {
            name = volume.key

            config_map {
              name         = volume.value
              default_mode = "0444"
            }
          }
        }

        volume {
          name = "work"

          empty_dir {
            size_limit = "256Mi"
          }
        }
      }
    }
  }

  lifecycle {
    precondition {
      condition     = local.tls || var.allow_plaintext
      error_message = "The pool has no TLS: give tls, or say allow_plaintext = true and mean it."
    }

    precondition {
      condition     = var.tenants == null || local.tls
      error_message = "tenants needs tls: a token in plain text belongs to everybody on its way."
    }

    precondition {
      condition     = !local.tls || var.tenants != null || try(var.tls.client_ca, null) != null
      error_message = "tls needs tls.client_ca or tenants: without either, no driver could be let in."
    }

    precondition {
      condition     = length(local.taken) == 0
      error_message = "settings has what other inputs of this module say: ${join(", ", local.taken)}."
    }

    precondition {
      condition     = length(var.clients) > 0 || var.load_balancer != null
      error_message = "Nobody could submit a query: give clients, or load_balancer."
    }

    precondition {
      condition     = var.driver.auth != "token" || var.tenants != null || !local.tls
      error_message = "driver.auth is token, and there is no file of tenants to know a token by: give tenants, or say driver.auth = \"certificate\"."
    }
  }
}

resource "kubernetes_service_v1" "this" {
  metadata {
    name      = var.name
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    selector = local.selector

    dynamic "port" {
      for_each = local.ports

      content {
        name        = port.key
        port        = port.value
        target_port = port.key
      }
    }
  }
}

resource "kubernetes_service_v1" "drivers" {
  count = var.load_balancer == null ? 0 : 1

  metadata {
    name        = "${var.name}-drivers"
    namespace   = var.namespace
    labels      = local.labels
    annotations = var.load_balancer.annotations
  }

  wait_for_load_balancer = var.load_balancer.wait

  spec {
    type                        = "LoadBalancer"
    selector                    = local.selector
    load_balancer_source_ranges = var.load_balancer.source_ranges

    port {
      name        = "drivers"
      port        = local.ports.drivers
      target_port = "drivers"
    }
  }
}

resource "kubernetes_network_policy_v1" "this" {
  metadata {
    name      = var.name
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    policy_types = ["Ingress", "Egress"]

    pod_selector {
      match_labels = local.selector
    }

    dynamic "ingress" {
      for_each = length(var.clients) > 0 || var.load_balancer != null ? [1] : []

      content {
        ports {
          protocol = "TCP"
          port     = local.ports.drivers
        }

        dynamic "from" {
          for_each = var.clients

          content {
            namespace_selector {
              match_labels = from.value.namespace_labels
            }

            pod_selector {
              match_labels = from.value.pod_labels
            }
          }
        }

        dynamic "from" {
          for_each = try(var.load_balancer.source_ranges, [])

          content {
            ip_block {
              cidr = from.value
            }
          }
        }
      }
    }

    ingress {
      ports {
        protocol = "TCP"
        port     = local.ports.executors
      }

      from {
        pod_selector {
          match_labels = local.executor_selector
        }
      }
    }

    ingress {
      ports {
        protocol = "TCP"
        port     = local.ports.scaler
      }

      from {
        namespace_selector {
          match_labels = { "kubernetes.io/metadata.name" = var.keda_namespace }
        }
      }
    }

    dynamic "ingress" {
      for_each = var.monitoring_namespace == null ? [] : [var.monitoring_namespace]

      content {
        ports {
          protocol = "TCP"
          port     = local.ports.http
        }

        from {
          namespace_selector {
            match_labels = { "kubernetes.io/metadata.name" = ingress.value }
          }
        }
      }
    }

    # Names, and executors; no store, no metadata of the node, no Internet.
    egress {
      ports {
        protocol = "UDP"
        port     = 53
      }

      ports {
        protocol = "TCP"
        port     = 53
      }
    }

    egress {
      ports {
        protocol = "TCP"
        port     = 50060
      }

      ports {
        protocol = "TCP"
        port     = 50061
      }

      to {
        pod_selector {
          match_labels = local.executor_selector
        }
      }
    }
  }
}

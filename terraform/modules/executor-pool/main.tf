locals {
  # The instance is in the selector: two pools of one scheduler never take each other's pods.
  selector = merge(var.pool.executor_labels, { "app.kubernetes.io/instance" = var.name })
  labels = merge(var.labels, local.selector, {
    "app.kubernetes.io/component"  = "executor"
    "app.kubernetes.io/part-of"    = "comet-native-executors"
    "app.kubernetes.io/managed-by" = "terraform"
  })
  ports     = { flight = 50060, grpc = 50061, http = 50063 }
  namespace = var.pool.namespace
  tls       = var.pool.tls != null
  client_ca = try(var.pool.tls.client_ca, null)
  dedicated = var.node_pools != null
  node_key  = "comet-native-executors/pool"
  provider  = try(var.node_pools.node_class.group, "eks.amazonaws.com")

  environment = merge(
    {
      CNE_EXECUTOR_FLIGHT_ADDRESS = "0.0.0.0:${local.ports.flight}"
      CNE_EXECUTOR_GRPC_ADDRESS   = "0.0.0.0:${local.ports.grpc}"
      CNE_EXECUTOR_HTTP_ADDRESS   = "0.0.0.0:${local.ports.http}"
      CNE_SCHEDULER_ADDRESS       = var.pool.executor_address
      CNE_POOL_NAME               = var.pool.pool_name
      CNE_TICKET_KEY_FILE         = "/etc/comet/ticket/${var.pool.ticket_key.key}"
      CNE_STORAGE_URL             = var.storage_url
      CNE_WORK_DIR                = "/work"
      # A tenth of the volume is nobody's: the kubelet evicts a pod whose volume is full.
      CNE_SPILL_QUOTA = "${floor(var.work_volume.size_gib * 0.6)}GiB"
      CNE_LOCAL_QUOTA = "${floor(var.work_volume.size_gib * 0.3)}GiB"
      CNE_DRAIN_GRACE = "${var.drain_grace_seconds}s"
      CNE_LOG_LEVEL   = var.log_level
      CNE_LOG_FORMAT  = "json"
    },
    local.tls ? {
      CNE_TLS_CERT        = "/etc/comet/tls/${var.pool.tls.cert_key}"
      CNE_TLS_KEY         = "/etc/comet/tls/${var.pool.tls.key_key}"
      CNE_TLS_CA          = "/etc/comet/tls/${var.pool.tls.ca_key}"
      CNE_TLS_SERVER_NAME = var.pool.tls.server_name
    } : { CNE_ALLOW_PLAINTEXT = "true" },
    local.client_ca == null ? {} : { CNE_TLS_CLIENT_CA = "/etc/comet/client-ca/${local.client_ca.key}" },
    var.pool.tenants == null ? {} : { CNE_TENANTS_FILE = "/etc/comet/tenants/${var.pool.tenants.key}" },
    length(var.buckets) == 0 ? {} : { CNE_BUCKETS_FILE = "/etc/comet/buckets/buckets.toml" },
  )
  aws   = var.region == null ? {} : { AWS_REGION = var.region }
  taken = sort(tolist(setintersection(keys(var.settings), concat(keys(local.environment), ["CNE_HOST"]))))

  # A string of JSON is one of TOML.
  buckets = join("\n", [for name, bucket in var.buckets : join("\n", concat(
    [name == "default" ? "[default]" : "[buckets.${jsonencode(name)}]"],
    [for key, value in bucket : "${key} = ${contains(["allow_http", "path_style", "requester_pays", "anonymous"], key) ? value : jsonencode(value)}" if value != null],
    [""],
  ))])

  secrets = merge(
    { ticket = var.pool.ticket_key.secret_name },
    local.tls ? { tls = var.pool.tls.secret_name } : {},
    var.pool.tenants == null ? {} : { tenants = var.pool.tenants.secret_name },
  )
  config_maps = merge(
    local.client_ca == null ? {} : { client-ca = local.client_ca.config_map_name },
    length(var.buckets) == 0 ? {} : { buckets = one(kubernetes_config_map_v1.buckets[*].metadata[0].name) },
  )

  capacities = local.dedicated ? { for c in var.node_pools.capacity : c => c == "spot" ? 100 : 10 } : {}
  instance_key = {
    "eks.amazonaws.com" = "eks.amazonaws.com"
    "karpenter.k8s.aws" = "karpenter.k8s.aws"
  }[local.provider]
  # Ranges in which the link-local addresses lie.
  over_metadata = [
    for r in var.store_ranges : r
    if tonumber(split("/", r)[1]) <= 16 && cidrhost("169.254.0.0/${split("/", r)[1]}", 0) == cidrhost(r, 0)
  ]
}

resource "kubernetes_service_account_v1" "this" {
  metadata {
    name        = var.service_account.name
    namespace   = local.namespace
    labels      = local.labels
    annotations = var.service_account.annotations
  }

  automount_service_account_token = false
}

resource "kubernetes_config_map_v1" "buckets" {
  count = length(var.buckets) == 0 ? 0 : 1

  metadata {
    # Named by its content: executors read it at their start, so that a change has to roll them.
    name      = "${var.name}-buckets-${substr(sha256(local.buckets), 0, 8)}"
    namespace = local.namespace
    labels    = local.labels
  }

  data = { "buckets.toml" = local.buckets }

  lifecycle {
    create_before_destroy = true
  }
}

resource "kubernetes_deployment_v1" "this" {
  #checkov:skip=CKV_K8S_12:requests and limits are set from var.resources, which the scanner does not follow; asserted in tests
  #checkov:skip=CKV_K8S_14:the image is the caller's; its variable refuses latest and no tag
  #checkov:skip=CKV_K8S_15:tags do not move: an image that the node has is the right one, and starts without the registry
  #checkov:skip=CKV_K8S_43:a digest is the caller's choice; the variable takes it
  metadata {
    name      = var.name
    namespace = local.namespace
    labels    = local.labels
  }

  # There may be no executor at all: that is ready too.
  wait_for_rollout = false

  spec {
    replicas = var.pool.min_executors

    selector {
      match_labels = local.selector
    }

    strategy {
      type = "RollingUpdate"

      rolling_update {
        max_surge       = "25%"
        max_unavailable = "0"
      }
    }

    template {
      metadata {
        labels      = local.labels
        annotations = var.pod_annotations
      }

      spec {
        service_account_name             = kubernetes_service_account_v1.this.metadata[0].name
        automount_service_account_token  = false
        enable_service_links             = false
        termination_grace_period_seconds = var.drain_grace_seconds + 10
        node_selector                    = merge(local.dedicated ? { (local.node_key) = var.name } : {}, var.node_selector)

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
          for_each = concat(
            local.dedicated ? [{ key = local.node_key, operator = "Equal", value = var.name, effect = "NoSchedule" }] : [],
            var.tolerations,
          )

          content {
            key      = toleration.value.key
            operator = toleration.value.operator
            value    = toleration.value.value
            effect   = toleration.value.effect
          }
        }

        # One zone or node that goes takes no more than its part; executors that find no room elsewhere still start.
        dynamic "topology_spread_constraint" {
          for_each = toset(["topology.kubernetes.io/zone", "kubernetes.io/hostname"])

          content {
            max_skew           = 1
            topology_key       = topology_spread_constraint.value
            when_unsatisfiable = "ScheduleAnyway"

            label_selector {
              match_labels = local.selector
            }
          }
        }

        container {
          name              = "executor"
          image             = var.image
          image_pull_policy = "IfNotPresent"

          env {
            name = "CNE_HOST"

            value_from {
              field_ref {
                field_path = "status.podIP"
              }
            }
          }

          dynamic "env" {
            for_each = merge(local.environment, local.aws, var.settings)

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
            requests = merge(
              { cpu = tostring(var.resources.cpu), memory = var.resources.memory },
              var.work_volume.storage_class == null ? { ephemeral-storage = "${var.work_volume.size_gib}Gi" } : {},
            )
            limits = { cpu = tostring(var.resources.cpu), memory = var.resources.memory }
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

          # Not ready while the scheduler is away, and that is no reason for a restart: the probes ask for different things.
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

          dynamic "empty_dir" {
            for_each = var.work_volume.storage_class == null ? [1] : []

            content {
              size_limit = "${var.work_volume.size_gib}Gi"
            }
          }

          dynamic "ephemeral" {
            for_each = var.work_volume.storage_class == null ? [] : [1]

            content {
              volume_claim_template {
                spec {
                  access_modes       = ["ReadWriteOnce"]
                  storage_class_name = var.work_volume.storage_class

                  resources {
                    requests = { storage = "${var.work_volume.size_gib}Gi" }
                  }
                }
              }
            }
          }
        }
      }
    }
  }

  lifecycle {
    # KEDA says how many.
    ignore_changes = [spec[0].replicas]

    precondition {
      condition     = length(local.taken) == 0
      error_message = "settings has what other inputs of this module say: ${join(", ", local.taken)}."
    }

    precondition {
      condition     = !contains(keys(local.capacities), "spot") || var.drain_grace_seconds <= 110
      error_message = "drain_grace_seconds is above 110 and node_pools has spot: a spot instance is gone two minutes after its notice, and what is not handed back by then is lost."
    }

    precondition {
      condition     = var.service_account.name != var.pool.scheduler_name
      error_message = "service_account is the scheduler's: it would have the executors' access to data."
    }
  }
}

resource "kubernetes_pod_disruption_budget_v1" "this" {
  metadata {
    name      = var.name
    namespace = local.namespace
    labels    = local.labels
  }

  spec {
    max_unavailable = var.max_unavailable

    selector {
      match_labels = local.selector
    }
  }
}

# Without TLS there is nothing to verify the scaler by.
resource "kubernetes_manifest" "scaler_ca" {
  count = local.tls ? 1 : 0

  manifest = {
    apiVersion = "keda.sh/v1alpha1"
    kind       = "TriggerAuthentication"
    metadata   = { name = var.name, namespace = local.namespace, labels = local.labels }
    spec       = { secretTargetRef = [{ parameter = "caCert", name = var.pool.tls.secret_name, key = var.pool.tls.ca_key }] }
  }
}

resource "kubernetes_manifest" "scaled_object" {
  manifest = {
    apiVersion = "keda.sh/v1alpha1"
    kind       = "ScaledObject"
    metadata   = { name = var.name, namespace = local.namespace, labels = local.labels }
    spec = {
      scaleTargetRef  = { name = kubernetes_deployment_v1.this.metadata[0].name }
      minReplicaCount = var.pool.min_executors
      maxReplicaCount = var.pool.max_executors
      pollingInterval = var.polling_seconds
      # The scheduler damps by itself; two cool-downs would add up.
      cooldownPeriod = 10
      advanced = {
        horizontalPodAutoscalerConfig = {
          behavior = {
            scaleUp = {
              stabilizationWindowSeconds = 0
              policies                   = [{ type = "Pods", value = 100, periodSeconds = 15 }]
            }
            scaleDown = {
              stabilizationWindowSeconds = 0
              policies                   = [{ type = "Percent", value = 100, periodSeconds = 15 }]
            }
          }
        }
      }
      triggers = [merge(
        {
          # The external scaler that also pushes: the first executor does not wait for a poll.
          type       = "external-push"
          metricType = "AverageValue"
          metadata   = merge({ scalerAddress = var.pool.scaler_address }, local.tls ? { enableTLS = "true" } : {})
        },
        local.tls ? { authenticationRef = { name = var.name } } : {},
      )]
    }
  }

  depends_on = [kubernetes_manifest.scaler_ca]
}

resource "kubernetes_manifest" "node_pool" {
  for_each = local.capacities

  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "${var.name}-${each.key}", labels = local.labels }
    spec = {
      # The higher weight is tried first: spot, and on-demand where there is none.
      weight = each.value
      limits = { cpu = tostring(var.node_pools.max_cpu) }
      disruption = {
        # Executors are ended by the scaler, never to tidy up nodes: a node goes when it is empty.
        consolidationPolicy = "WhenEmpty"
        consolidateAfter    = "${var.node_pools.empty_seconds}s"
      }
      template = {
        metadata = { labels = { (local.node_key) = var.name } }
        spec = {
          expireAfter  = "${var.node_pools.expire_hours}h"
          nodeClassRef = { group = var.node_pools.node_class.group, kind = var.node_pools.node_class.kind, name = var.node_pools.node_class.name }
          taints       = [{ key = local.node_key, value = var.name, effect = "NoSchedule" }]
          requirements = [
            { key = "karpenter.sh/capacity-type", operator = "In", values = [each.key] },
            { key = "kubernetes.io/arch", operator = "In", values = sort(tolist(var.node_pools.architectures)) },
            { key = "kubernetes.io/os", operator = "In", values = ["linux"] },
            { key = "${local.instance_key}/instance-category", operator = "In", values = sort(tolist(var.node_pools.instance_categories)) },
            { key = "${local.instance_key}/instance-generation", operator = "Gt", values = [tostring(var.node_pools.min_generation - 1)] },
          ]
        }
      }
    }
  }
}

resource "kubernetes_network_policy_v1" "this" {
  metadata {
    name      = var.name
    namespace = local.namespace
    labels    = local.labels
  }

  spec {
    policy_types = ["Ingress", "Egress"]

    pod_selector {
      match_labels = local.selector
    }

    # Tasks come from the scheduler.
    ingress {
      ports {
        protocol = "TCP"
        port     = local.ports.grpc
      }

      from {
        pod_selector {
          match_labels = var.pool.scheduler_labels
        }
      }
    }

    # Rows go to drivers, and outputs to other executors.
    ingress {
      ports {
        protocol = "TCP"
        port     = local.ports.flight
      }

      from {
        pod_selector {
          match_labels = var.pool.executor_labels
        }
      }

      from {
        pod_selector {
          match_labels = var.pool.scheduler_labels
        }
      }

      dynamic "from" {
        for_each = var.pool.clients

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
        for_each = var.pool.client_ranges

        content {
          ip_block {
            cidr = from.value
          }
        }
      }
    }

    dynamic "ingress" {
      for_each = var.pool.monitor_namespace == null ? [] : [var.pool.monitor_namespace]

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
        port     = 50051
      }

      to {
        pod_selector {
          match_labels = var.pool.scheduler_labels
        }
      }
    }

    egress {
      ports {
        protocol = "TCP"
        port     = local.ports.flight
      }

      to {
        pod_selector {
          match_labels = var.pool.executor_labels
        }
      }
    }

    # The store, STS and KMS. The node's metadata are left out: they would give the node's role away.
    egress {
      ports {
        protocol = "TCP"
        port     = 443
      }

      dynamic "to" {
        for_each = var.store_ranges

        content {
          ip_block {
            cidr   = to.value
            except = contains(local.over_metadata, to.value) ? ["169.254.0.0/16"] : []
          }
        }
      }
    }

    # The agent of EKS Pod Identity.
    egress {
      ports {
        protocol = "TCP"
        port     = 80
      }

      to {
        ip_block {
          cidr = "169.254.170.23/32"
        }
      }
    }
  }
}

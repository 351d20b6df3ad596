locals {
  name = var.pool.scheduler_name
  labels = merge(var.labels, {
    "app.kubernetes.io/part-of"    = "comet-native-executors"
    "app.kubernetes.io/instance"   = local.name
    "app.kubernetes.io/managed-by" = "terraform"
  })
  monitored = var.prometheus_operator ? { scheduler = var.pool.scheduler_labels, executor = var.pool.executor_labels } : {}
  of_pool   = "namespace=\"${var.pool.namespace}\""

  # Each metric is in docs/operations.md.
  rules = {
    CometSchedulerDown = {
      expr        = "absent(comet_executors_wanted{${local.of_pool}})"
      for         = "5m"
      summary     = "The scheduler of ${local.name} gives no metrics"
      description = "Drivers wait for it for spark.comet.nativeExecutors.recoveryTimeout (2 minutes), then their queries fail."
    }
    CometExecutorsMissing = {
      expr        = "comet_executors_wanted{${local.of_pool}} > comet_executors_registered{${local.of_pool}}"
      for         = "${var.alerts.missing_minutes}m"
      summary     = "Executors that are wanted do not come"
      description = "Look for pods that are pending (no node, no address, a missing Secret) and at the ScaledObject's conditions."
    }
    CometTasksWait = {
      expr        = "comet_tasks_waited_milliseconds{${local.of_pool}} > ${var.alerts.waiting_seconds * 1000}"
      for         = "1m"
      summary     = "Tasks have waited for a slot for more than ${var.alerts.waiting_seconds} s"
      description = "The pool is at its largest, or does not grow: compare comet_executors_wanted with maxReplicaCount."
    }
    CometExecutorsLost = {
      expr        = "increase(comet_executors_lost_total{${local.of_pool}}[10m]) >= ${var.alerts.lost_executors}"
      for         = "0m"
      summary     = "Executors end without a farewell"
      description = "They were killed (memory, node) or cut off; what was committed is kept, and running tasks begin again."
    }
    CometQueriesFail = {
      expr        = "sum(rate(comet_queries_total{${local.of_pool},end!=\"ok\"}[10m])) / sum(rate(comet_queries_total{${local.of_pool}}[10m])) > ${var.alerts.failed_queries_part}"
      for         = "10m"
      summary     = "More than ${var.alerts.failed_queries_part * 100} % of queries fail"
      description = "The label end of comet_queries_total is the code of the failure: docs/errors.md."
    }
  }
}

resource "kubernetes_manifest" "monitor" {
  for_each = local.monitored

  manifest = {
    apiVersion = "monitoring.coreos.com/v1"
    kind       = "PodMonitor"
    metadata = {
      name      = "${local.name}-${each.key}s"
      namespace = var.pool.namespace
      labels    = merge(local.labels, var.monitor_labels)
    }
    spec = {
      selector            = { matchLabels = each.value }
      podMetricsEndpoints = [{ port = "http", path = "/metrics", interval = "${var.scrape_seconds}s" }]
    }
  }
}

resource "kubernetes_manifest" "alerts" {
  count = var.prometheus_operator && var.alerts.enabled ? 1 : 0

  manifest = {
    apiVersion = "monitoring.coreos.com/v1"
    kind       = "PrometheusRule"
    metadata = {
      name      = local.name
      namespace = var.pool.namespace
      labels    = merge(local.labels, var.monitor_labels)
    }
    spec = {
      groups = [{
        name = "comet-native-executors"
        rules = [for alert, rule in local.rules : {
          alert       = alert
          expr        = rule.expr
          for         = rule.for
          labels      = { severity = var.alerts.severity, pool = local.name }
          annotations = { summary = rule.summary, description = rule.description }
        }]
      }]
    }
  }
}

mock_provider "kubernetes" {}

variables {
  pool = {
    scheduler_name   = "comet-scheduler"
    namespace        = "comet"
    scheduler_labels = { "app.kubernetes.io/name" = "comet-scheduler" }
    executor_labels  = { "app.kubernetes.io/name" = "comet-executor" }
  }
}

run "operator" {
  command = plan
  variables {
    monitor_labels = { release = "prometheus" }
  }
  assert {
    condition     = toset(keys(kubernetes_manifest.monitor)) == toset(["scheduler", "executor"])
    error_message = "both roles have to be monitored"
  }
  assert {
    condition     = kubernetes_manifest.monitor["executor"].manifest.spec.selector.matchLabels["app.kubernetes.io/name"] == "comet-executor"
    error_message = "the executors' monitor chooses other pods"
  }
  assert {
    condition     = kubernetes_manifest.alerts[0].manifest.metadata.labels["release"] == "prometheus"
    error_message = "the operator's Prometheus does not find the rules"
  }
  assert {
    condition     = length(output.alert_names) == 5 && alltrue([for r in kubernetes_manifest.alerts[0].manifest.spec.groups[0].rules : length(r.annotations.description) > 0])
    error_message = "an alert does not say what to do"
  }
}

run "no_operator" {
  command = plan
  variables {
    prometheus_operator = false
  }
  assert {
    condition     = length(kubernetes_manifest.monitor) == 0 && length(kubernetes_manifest.alerts) == 0
    error_message = "there are objects of an operator that is not there"
  }
  assert {
    condition     = output.scrape_annotations.executor["prometheus.io/port"] == "50063" && output.scrape_annotations.scheduler["prometheus.io/port"] == "50053"
    error_message = "the annotations name other ports"
  }
}

run "no_alerts" {
  command = plan
  variables {
    alerts = { enabled = false }
  }
  assert {
    condition     = length(kubernetes_manifest.alerts) == 0 && length(kubernetes_manifest.monitor) == 2
    error_message = "alerts were switched off, monitors were not"
  }
}

run "too_often" {
  command = plan
  variables {
    scrape_seconds = 1
  }
  expect_failures = [var.scrape_seconds]
}

run "part_of_queries_above_one" {
  command = plan
  variables {
    alerts = { failed_queries_part = 5 }
  }
  expect_failures = [var.alerts]
}

run "unknown_severity" {
  command = plan
  variables {
    alerts = { severity = "page" }
  }
  expect_failures = [var.alerts]
}

run "no_minutes" {
  command = plan
  variables {
    alerts = { missing_minutes = 0 }
  }
  expect_failures = [var.alerts]
}

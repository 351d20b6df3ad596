output "scrape_annotations" {
  description = "Annotations by which a Prometheus without an operator finds pods, for pod_annotations of modules scheduler (port 50053) and executor-pool (port 50063)"
  value = {
    for role, port in { scheduler = "50053", executor = "50063" } : role => {
      "prometheus.io/scrape"      = "true"
      "prometheus.io/path"        = "/metrics"
      "prometheus.io/port"        = port
    }
  }
}

output "alert_names" {
  description = "Names of the alerts, none when they are switched off"
  value       = length(kubernetes_manifest.alerts) > 0 ? keys(local.rules) : []
}

output "rules_yaml" {
  description = "The same alerts as a file of rules for a Prometheus without an operator"
  value = yamlencode({
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
  })
}

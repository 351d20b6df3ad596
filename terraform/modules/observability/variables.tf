# Required

variable "pool" {
  description = "The scheduler's output of the same name"
  type = object({
    scheduler_name   = string
    namespace        = string
    scheduler_labels = map(string)
    executor_labels  = map(string)
  })
}

# Optional

variable "prometheus_operator" {
  description = "Whether Prometheus' operator is there: pods are then found by PodMonitors and alerts are a PrometheusRule. Otherwise give scrape_annotations to the other modules"
  type        = bool
  default     = true
  nullable    = false
}

variable "monitor_labels" {
  description = "Labels by which the operator's Prometheus chooses monitors and rules, such as { release = \"kube-prometheus-stack\" }"
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "scrape_seconds" {
  description = "How often metrics are read"
  type        = number
  default     = 15
  nullable    = false

  validation {
    condition     = var.scrape_seconds >= 5 && var.scrape_seconds <= 300
    error_message = "scrape_seconds must be from 5 to 300."
  }
}

variable "alerts" {
  description = "When to tell somebody: minutes in which executors that are wanted did not come, seconds for which tasks have waited, executors lost in ten minutes, and the part of queries that failed in ten minutes"
  type = object({
    enabled             = optional(bool, true)
    missing_minutes     = optional(number, 10)
    waiting_seconds     = optional(number, 300)
    lost_executors      = optional(number, 3)
    failed_queries_part = optional(number, 0.05)
    severity            = optional(string, "warning")
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.alerts.missing_minutes >= 1 && var.alerts.missing_minutes <= 120 && var.alerts.waiting_seconds >= 1 && var.alerts.lost_executors >= 1
    error_message = "alerts: missing_minutes must be from 1 to 120, waiting_seconds and lost_executors at least 1."
  }

  validation {
    condition     = var.alerts.failed_queries_part > 0 && var.alerts.failed_queries_part <= 1
    error_message = "alerts.failed_queries_part must be above 0 and at most 1."
  }

  validation {
    condition     = contains(["info", "warning", "critical"], var.alerts.severity)
    error_message = "alerts.severity must be info, warning or critical."
  }
}

variable "labels" {
  description = "Further labels of all objects"
  type        = map(string)
  default     = {}
  nullable    = false
}

# Required

variable "namespace" {
  description = "Kubernetes namespace of the pool; it has to be there"
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "namespace must be a Kubernetes name: at most 63 lower-case letters, digits and hyphens."
  }
}

variable "image" {
  description = "Image of comet-scheduler, by digest (repository@sha256:...) or by a tag that does not move"
  type        = string

  validation {
    condition     = can(regex("^[^\\s@]+(@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})$", var.image)) && !endswith(var.image, ":latest")
    error_message = "image must name a digest or a tag other than latest: scheduler and executors of one pool have to be of one version."
  }
}

variable "ticket_key" {
  description = "Secret with the key that signs result tickets (id:hex, at least 16 bytes), and the key of its entry. It is mounted as a file and never read by Terraform"
  type = object({
    secret_name = string
    key         = optional(string, "ticket-key")
  })
}

variable "clients" {
  description = "Pods that may submit queries: Spark drivers, and Spark executors, which read the rows. Of any namespace with these labels and the pods with those in it"
  type = list(object({
    namespace_labels = map(string)
    pod_labels       = optional(map(string), {})
  }))

  validation {
    condition     = alltrue([for c in var.clients : length(c.namespace_labels) > 0])
    error_message = "clients: each needs namespace_labels, such as { \"kubernetes.io/metadata.name\" = \"spark\" }; an empty map would be every namespace."
  }
}

# Optional

variable "name" {
  description = "Name of the Deployment, the Service and what belongs to them"
  type        = string
  default     = "comet-scheduler"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,50}[a-z0-9])?$", var.name))
    error_message = "name must be at most 52 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "pool_name" {
  description = "CNE_POOL_NAME: a result ticket is valid in the pool that issued it only"
  type        = string
  default     = "default"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,63}$", var.pool_name))
    error_message = "pool_name must be 1 to 63 letters, digits, dots, underscores and hyphens."
  }
}

variable "service_account" {
  description = "Name and annotations of the service account (module identity: scheduler_service_account)"
  type = object({
    name        = optional(string, "comet-scheduler")
    annotations = optional(map(string), {})
  })
  default  = {}
  nullable = false
}

variable "tls" {
  description = "Secret with the certificate of the pool's members, its key and the pool's CA, as cert-manager writes them; server_name is a DNS name in every member's certificate. client_ca and tenants say which drivers are let in. Null: plain text, which allow_plaintext has to allow"
  type = object({
    secret_name = string
    server_name = string
    cert_key    = optional(string, "tls.crt")
    key_key     = optional(string, "tls.key")
    ca_key      = optional(string, "ca.crt")
    client_ca = optional(object({
      config_map_name = string
      key             = optional(string, "ca.crt")
    }))
  })
  default = null

  validation {
    condition     = var.tls == null || can(regex("^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$", var.tls.server_name))
    error_message = "tls.server_name must be a DNS name that every member's certificate has."
  }
}

variable "tenants" {
  description = "Secret with the file of tenants (CNE_TENANTS_FILE): their names, digests of tokens, names in certificates"
  type = object({
    secret_name = string
    key         = optional(string, "tenants.toml")
  })
  default = null
}

variable "allow_plaintext" {
  description = "Whether a pool without TLS is meant: everybody who reaches it may then run queries over everything that executors may read"
  type        = bool
  default     = false
  nullable    = false
}

variable "scale" {
  description = "How many executors the scaler asks for, and how fast it changes its mind"
  type = object({
    min_executors = optional(number, 0)
    max_executors = optional(number, 10)
    slots         = optional(number, 4)
    patience      = optional(string, "2s")
    cool_down     = optional(string, "60s")
    burst         = optional(number, 10)
    burst_period  = optional(string, "30s")
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.scale.min_executors >= 0 && var.scale.max_executors >= 1 && var.scale.max_executors <= 1000 && var.scale.min_executors <= var.scale.max_executors
    error_message = "scale: 0 <= min_executors <= max_executors, and 1 <= max_executors <= 1000."
  }

  validation {
    condition     = var.scale.slots >= 1 && var.scale.slots <= 256 && var.scale.burst >= 1
    error_message = "scale: slots must be from 1 to 256, and burst at least 1."
  }

  validation {
    condition     = alltrue([for d in [var.scale.patience, var.scale.cool_down, var.scale.burst_period] : can(regex("^[0-9]+(ms|s|m|h)$", d))])
    error_message = "scale: patience, cool_down and burst_period must be durations such as 500ms, 60s or 5m."
  }
}

variable "keda_namespace" {
  description = "Namespace of KEDA's operator, which alone may ask the scaler"
  type        = string
  default     = "keda"
  nullable    = false
}

variable "monitoring_namespace" {
  description = "Namespace from which metrics are read; null: from nowhere"
  type        = string
  default     = null
}

variable "load_balancer" {
  description = "Makes a second Service of type LoadBalancer with the drivers' port alone, for drivers outside the cluster (EMR on EC2). Its default annotations ask for an internal network load balancer"
  type = object({
    source_ranges = set(string)
    annotations = optional(map(string), {
      "service.beta.kubernetes.io/aws-load-balancer-type"            = "external"
      "service.beta.kubernetes.io/aws-load-balancer-scheme"          = "internal"
      "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type" = "ip"
    })
    wait = optional(bool, true)
  })
  default = null

  validation {
    condition     = var.load_balancer == null || try(length(var.load_balancer.source_ranges) > 0 && alltrue([for r in var.load_balancer.source_ranges : can(cidrhost(r, 0)) && !endswith(r, "/0")]), false)
    error_message = "load_balancer.source_ranges must be CIDR ranges of the drivers, and not the whole Internet."
  }
}

variable "durability" {
  description = "CNE_DURABILITY: when the output of a task counts as committed. Anything but store costs work when a spot node goes"
  type        = string
  default     = "store"
  nullable    = false

  validation {
    condition     = contains(["local", "write-behind", "store"], var.durability)
    error_message = "durability must be local, write-behind or store."
  }
}

variable "settings" {
  description = "Further settings of comet-scheduler by variable name, as docs/configuration.md lists them"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for k in keys(var.settings) : can(regex("^CNE_[A-Z0-9_]+$", k))])
    error_message = "settings: names are CNE_*, in capitals."
  }

  validation {
    condition     = length(setintersection(keys(var.settings), ["CNE_TICKET_KEY", "CNE_TICKET_KEY_FILE"])) == 0
    error_message = "settings: the ticket key is a secret and comes by reference (ticket_key), never as a value in the state."
  }
}

variable "resources" {
  description = "Processor and memory of the scheduler: requests are limits"
  type = object({
    cpu    = optional(string, "2")
    memory = optional(string, "4Gi")
  })
  default  = {}
  nullable = false

  validation {
    condition     = can(regex("^([1-9][0-9]*m?|[0-9]+\\.[0-9]+)$", var.resources.cpu)) && can(regex("^[1-9][0-9]*(Mi|Gi)$", var.resources.memory))
    error_message = "resources: cpu such as 2 or 500m, memory such as 512Mi or 4Gi."
  }
}

variable "node_selector" {
  description = "Labels of the nodes on which the scheduler runs; it belongs on an on-demand node"
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "tolerations" {
  description = "Taints that the scheduler bears"
  type = list(object({
    key      = string
    operator = optional(string, "Equal")
    value    = optional(string)
    effect   = optional(string, "NoSchedule")
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for t in var.tolerations : contains(["Equal", "Exists"], t.operator) && contains(["NoSchedule", "PreferNoSchedule", "NoExecute"], t.effect)])
    error_message = "tolerations: operator is Equal or Exists; effect NoSchedule, PreferNoSchedule or NoExecute."
  }
}

variable "pod_annotations" {
  description = "Further annotations of the pod (module observability: scrape_annotations)"
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "log_level" {
  description = "CNE_LOG_LEVEL; also per module, as in info,cne_scheduler=debug"
  type        = string
  default     = "info"
  nullable    = false

  validation {
    condition     = can(regex("^(([a-z_:]+=)?(error|warn|info|debug|trace))(,([a-z_:]+=)?(error|warn|info|debug|trace))*$", var.log_level))
    error_message = "log_level must be error, warn, info, debug or trace, or a list such as info,cne_scheduler=debug."
  }
}

variable "driver" {
  description = "Where drivers find things, for the outputs with their settings: the folder of the two jars in their image, the folder into which the Secret with ca.crt (and token, or tls.crt and tls.key) is mounted, and that Secret's name in their namespace. auth is token, certificate or none; emr_class_path what EMR itself has in spark.driver.extraClassPath, which the EMR outputs keep"
  type = object({
    jar_directory  = optional(string, "/opt/comet")
    comet_jar      = optional(string, "comet-spark-spark4.1_2.13-1.2.0.jar")
    driver_jar     = optional(string, "comet-native-executors-driver.jar")
    secret_name    = optional(string, "comet-driver")
    mount_path     = optional(string, "/etc/comet/driver")
    auth           = optional(string, "token")
    off_heap_bytes = optional(string, "1g")
    emr_class_path = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = contains(["token", "certificate", "none"], var.driver.auth)
    error_message = "driver.auth must be token, certificate or none: what drivers show to the pool."
  }

  validation {
    condition     = startswith(var.driver.jar_directory, "/") && startswith(var.driver.mount_path, "/")
    error_message = "driver.jar_directory and driver.mount_path must be absolute paths."
  }
}

variable "wait_for_rollout" {
  description = "Whether apply waits until the scheduler is ready"
  type        = bool
  default     = true
  nullable    = false
}

variable "labels" {
  description = "Further labels of all objects"
  type        = map(string)
  default     = {}
  nullable    = false
}

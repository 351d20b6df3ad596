# Required

variable "pool" {
  description = "The scheduler's output of the same name"
  type = object({
    scheduler_name    = string
    namespace         = string
    pool_name         = string
    executor_address  = string
    scaler_address    = string
    min_executors     = number
    max_executors     = number
    ticket_key        = object({ secret_name = string, key = string })
    tls               = optional(object({ secret_name = string, server_name = string, cert_key = string, key_key = string, ca_key = string, client_ca = optional(object({ config_map_name = string, key = string })) }))
    tenants           = optional(object({ secret_name = string, key = string }))
    clients           = list(object({ namespace_labels = map(string), pod_labels = map(string) }))
    client_ranges     = optional(set(string), [])
    scheduler_labels  = map(string)
    executor_labels   = map(string)
    monitor_namespace = optional(string)
  })
}

variable "image" {
  description = "Image of comet-executor, of the scheduler's version, by digest or by a tag that does not move"
  type        = string

  validation {
    condition     = can(regex("^[^\\s@]+(@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})$", var.image)) && !endswith(var.image, ":latest")
    error_message = "image must name a digest or a tag other than latest: scheduler and executors of one pool have to be of one version."
  }
}

variable "storage_url" {
  description = "CNE_STORAGE_URL (module storage)"
  type        = string

  validation {
    condition     = can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^/].*[^/]$|^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^/]$", var.storage_url))
    error_message = "storage_url must be s3://bucket/prefix without a slash at its end; executors of a cluster share no directory."
  }
}

# Optional

variable "name" {
  description = "Name of the Deployment and of what belongs to it"
  type        = string
  default     = "comet-executor"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$", var.name))
    error_message = "name must be at most 50 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "service_account" {
  description = "Name and annotations of the service account (module identity: executor_service_account)"
  type = object({
    name        = optional(string, "comet-executor")
    annotations = optional(map(string), {})
  })
  default  = {}
  nullable = false
}

variable "region" {
  description = "AWS_REGION of the executors; null leaves it to what EKS sets with the pod's identity"
  type        = string
  default     = null

  validation {
    condition     = var.region == null || can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region must be the name of a region, such as eu-central-1."
  }
}

variable "resources" {
  description = "Processor and memory of one executor: requests are limits, and its task slots and memory pool follow them"
  type = object({
    cpu    = optional(number, 4)
    memory = optional(string, "16Gi")
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.resources.cpu >= 1 && var.resources.cpu <= 192 && floor(var.resources.cpu) == var.resources.cpu
    error_message = "resources.cpu must be a whole number of cores from 1 to 192: each slot is one."
  }

  validation {
    condition     = can(regex("^[1-9][0-9]*(Mi|Gi)$", var.resources.memory))
    error_message = "resources.memory must be such as 512Mi or 16Gi."
  }
}

variable "work_volume" {
  description = "The volume for spilled data and kept outputs: on the node's own disk (storage_class null), or a volume of a storage class that lives as long as the pod"
  type = object({
    size_gib      = optional(number, 50)
    storage_class = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.work_volume.size_gib >= 10 && var.work_volume.size_gib <= 16384 && floor(var.work_volume.size_gib) == var.work_volume.size_gib
    error_message = "work_volume.size_gib must be a whole number from 10 to 16384."
  }
}

variable "drain_grace_seconds" {
  description = "CNE_DRAIN_GRACE: how long an executor may take to end; Kubernetes kills it ten seconds later. Spot instances have two minutes"
  type        = number
  default     = 110
  nullable    = false

  validation {
    condition     = var.drain_grace_seconds >= 15 && var.drain_grace_seconds <= 3600 && floor(var.drain_grace_seconds) == var.drain_grace_seconds
    error_message = "drain_grace_seconds must be a whole number from 15 to 3600."
  }
}

variable "max_unavailable" {
  description = "PodDisruptionBudget: how many executors may be evicted at a time, as a number or a part such as 25%"
  type        = string
  default     = "25%"
  nullable    = false

  validation {
    condition     = can(regex("^([1-9][0-9]*|[1-9][0-9]?%|100%)$", var.max_unavailable))
    error_message = "max_unavailable must be a number above 0, or 1% to 100%: nothing would let a node ever be drained."
  }
}

variable "polling_seconds" {
  description = "How often KEDA asks the scaler; the first executor does not wait for it"
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.polling_seconds >= 1 && var.polling_seconds <= 60
    error_message = "polling_seconds must be from 1 to 60."
  }
}

variable "buckets" {
  description = "How single S3 buckets are reached (CNE_BUCKETS_FILE); what is not said is as the pod's environment says. Key default is for all buckets"
  type = map(object({
    region         = optional(string)
    endpoint       = optional(string)
    allow_http     = optional(bool)
    path_style     = optional(bool)
    requester_pays = optional(bool)
    sse_kms_key    = optional(string)
    role_arn       = optional(string)
    external_id    = optional(string)
    session_name   = optional(string)
    anonymous      = optional(bool)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for k in keys(var.buckets) : can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", k))])
    error_message = "buckets: keys are names of buckets, or default."
  }

  validation {
    condition     = try(var.buckets["default"].anonymous, null) != true
    error_message = "buckets: anonymous is said of single buckets only, so that no other one is read without an identity."
  }

  validation {
    condition     = alltrue([for b in values(var.buckets) : b.endpoint == null || can(regex("^https?://", b.endpoint))])
    error_message = "buckets: endpoint begins with https:// (or http://, with allow_http)."
  }
}

variable "node_pools" {
  description = "Makes Karpenter NodePools for executors alone: spot first, on-demand where there is no spot. node_class names a NodeClass of EKS Auto Mode, or an EC2NodeClass of Karpenter (group karpenter.k8s.aws). Null: nodes are there, see node_selector"
  type = object({
    node_class = optional(object({
      group = optional(string, "eks.amazonaws.com")
      kind  = optional(string, "NodeClass")
      name  = optional(string, "default")
    }), {})
    capacity            = optional(set(string), ["spot", "on-demand"])
    architectures       = optional(set(string), ["amd64"])
    instance_categories = optional(set(string), ["c", "m", "r"])
    min_generation      = optional(number, 5)
    max_cpu             = optional(number, 200)
    empty_seconds       = optional(number, 60)
    expire_hours        = optional(number, 336)
  })
  default = null

  validation {
    condition     = var.node_pools == null || try(length(var.node_pools.capacity) > 0 && length(setsubtract(var.node_pools.capacity, ["spot", "on-demand"])) == 0, false)
    error_message = "node_pools.capacity must be spot, on-demand, or both."
  }

  validation {
    condition     = var.node_pools == null || try(length(var.node_pools.architectures) > 0 && length(setsubtract(var.node_pools.architectures, ["amd64", "arm64"])) == 0, false)
    error_message = "node_pools.architectures must be amd64, arm64, or both; the image has to have them."
  }

  validation {
    condition     = var.node_pools == null || try(contains(["eks.amazonaws.com", "karpenter.k8s.aws"], var.node_pools.node_class.group), false)
    error_message = "node_pools.node_class.group must be eks.amazonaws.com or karpenter.k8s.aws."
  }

  validation {
    condition     = var.node_pools == null || try(var.node_pools.max_cpu >= 1 && var.node_pools.min_generation >= 1 && var.node_pools.empty_seconds >= 0 && var.node_pools.expire_hours >= 1, false)
    error_message = "node_pools: max_cpu, min_generation and expire_hours are at least 1, empty_seconds at least 0."
  }
}

variable "node_selector" {
  description = "Labels of the nodes on which executors run, besides those of node_pools"
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "tolerations" {
  description = "Taints that executors bear, besides that of node_pools"
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

variable "store_ranges" {
  description = "Where executors may connect by HTTPS: the object store, STS and KMS. Not the addresses of the node's metadata, which are always left out"
  type        = set(string)
  default     = ["0.0.0.0/0"]
  nullable    = false

  validation {
    condition     = length(var.store_ranges) > 0 && alltrue([for r in var.store_ranges : can(cidrnetmask(r))])
    error_message = "store_ranges must be IPv4 CIDR ranges."
  }
}

variable "settings" {
  description = "Further settings of comet-executor by variable name, as docs/configuration.md lists them"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for k in keys(var.settings) : can(regex("^CNE_[A-Z0-9_]+$", k))])
    error_message = "settings: names are CNE_*, in capitals."
  }

  validation {
    condition     = length(setintersection(keys(var.settings), ["CNE_TICKET_KEY", "CNE_TICKET_KEY_FILE"])) == 0
    error_message = "settings: the ticket key is a secret and comes by reference (the scheduler's ticket_key), never as a value in the state."
  }
}

variable "pod_annotations" {
  description = "Further annotations of the pods (module observability: scrape_annotations)"
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "log_level" {
  description = "CNE_LOG_LEVEL; also per module, as in info,cne_executor=debug"
  type        = string
  default     = "info"
  nullable    = false

  validation {
    condition     = can(regex("^(([a-z_:]+=)?(error|warn|info|debug|trace))(,([a-z_:]+=)?(error|warn|info|debug|trace))*$", var.log_level))
    error_message = "log_level must be error, warn, info, debug or trace, or a list such as info,cne_executor=debug."
  }
}

variable "labels" {
  description = "Further labels of all objects"
  type        = map(string)
  default     = {}
  nullable    = false
}

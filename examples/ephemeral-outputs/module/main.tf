# Stores a map of secrets in one file, or reads such a file. Either way its output is ephemeral.

variable "secret_map" {
  type      = map(string)
  ephemeral = true # the value is used in write-only arguments and ephemeral blocks only
  default   = null
}

variable "secret_version" {
  description = "Stores secret_map if it is set; increase it to store the map again. Without it, the module reads."
  type        = number
  default     = null
}

variable "secret_path" {
  type = string
}

locals {
  stores = var.secret_version != null
}

resource "lethe_secret_file" "store" {
  count              = local.stores ? 1 : 0
  path               = var.secret_path
  content_wo         = jsonencode(var.secret_map)
  content_wo_version = var.secret_version
}

# content_wo of the resource is always null, so an ephemeral block reads the secret again.
ephemeral "lethe_file" "retrieval" {
  path       = local.stores ? lethe_secret_file.store[0].path : var.secret_path
  depends_on = [lethe_secret_file.store]
}

output "secrets" {
  value     = jsondecode(ephemeral.lethe_file.retrieval.content)
  ephemeral = true # required, because the value is ephemeral
}

output "secret_path" {
  value = var.secret_path
}

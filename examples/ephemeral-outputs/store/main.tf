# Stores the keys.

variable "access_key" {
  type      = string
  ephemeral = true
}

variable "secret_key" {
  type      = string
  ephemeral = true
}

module "secrets" {
  source         = "../module"
  secret_path    = "../keys.secret"
  secret_version = 1
  secret_map = {
    access_key = var.access_key
    secret_key = var.secret_key
  }
}

output "secret_path" {
  value = module.secrets.secret_path
}

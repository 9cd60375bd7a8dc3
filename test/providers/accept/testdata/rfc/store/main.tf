terraform {
  required_providers {
    playground = { source = "registry.opentofu.org/lethe/playground" }
  }
}
provider "playground" {
  alias = "rw"
  label = "rw"
}
variable "access_key" { default = "AKCANARY12345" }
variable "secret_key" { default = "SKCANARY12345" }
locals {
  secrets = { "access_key" : var.access_key, "secret_key" : var.secret_key }
}
module "secret_management" {
  providers      = { playground : playground.rw }
  source         = "../mod"
  secret_map     = local.secrets
  secret_version = 2
}
output "secret_manager_arn" { value = module.secret_management.secret_manager_arn }

terraform {
  required_providers {
    playground = { source = "registry.opentofu.org/lethe/playground" }
  }
}
provider "playground" {
  alias = "read"
  label = "read"
}
variable "secret_manager_arn" { type = string }
module "secret_management" {
  providers          = { playground : playground.read }
  source             = "../mod"
  secret_manager_arn = var.secret_manager_arn
}
provider "playground" {
  alias      = "dev"
  label      = "dev"
  access_key = module.secret_management.secrets["access_key"]
  secret_key = module.secret_management.secrets["secret_key"]
}
resource "playground_ssm_parameter" "store_ephemeral_in_write_only" {
  provider         = playground.dev
  name             = "parameter_from_ephemeral_value"
  type             = "SecureString"
  value_wo         = jsonencode(module.secret_management.secrets)
  value_wo_version = 1
  provisioner "local-exec" {
    when    = create
    command = "echo non-ephemeral value: ${playground_ssm_parameter.store_ephemeral_in_write_only.arn}"
  }
  provisioner "local-exec" {
    when    = create
    command = "echo ephemeral value from module: #${jsonencode(module.secret_management.secrets)}#"
  }
}

# Uses the keys, without storing them.

variable "secret_path" {
  type    = string
  default = "../keys.secret"
}

module "secrets" {
  source      = "../module"
  secret_path = var.secret_path
}

# A write-only argument accepts the output. A provider block does, too.
resource "lethe_secret_file" "credentials" {
  path               = "credentials.secret"
  content_wo         = jsonencode(module.secrets.secrets)
  content_wo_version = 1

  # A provisioner accepts it as well. Lethe hides the output of this command, because it contains the keys.
  provisioner "local-exec" {
    command = "echo The secret key is $SECRET_KEY"
    environment = {
      SECRET_KEY = module.secrets.secrets["secret_key"]
    }
  }
}

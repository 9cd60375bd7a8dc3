# A random password for a database user. No file of Lethe contains it.

variable "password_version" {
  description = "Increase it to write another password."
  type        = number
  default     = 1
}

# Each opening generates another password. Lethe opens the block only if the file below is created or updated.
ephemeral "lethe_random" "db" {
  length      = 20
  min_upper   = 2
  min_numeric = 2
  special     = false
}

# A file takes the place of a database user. `content_wo` is write-only, like `password_wo` of aws_db_instance.
resource "lethe_secret_file" "db" {
  path               = "db.password"
  content_wo         = ephemeral.lethe_random.db.password
  content_wo_version = var.password_version
}

# An application that reads the password when it starts. It depends on the version, because the password is not stored.
resource "terraform_data" "app" {
  input            = { user = "app", password_file = lethe_secret_file.db.path }
  triggers_replace = lethe_secret_file.db.content_wo_version
}

output "password_version" {
  value = lethe_secret_file.db.content_wo_version
}

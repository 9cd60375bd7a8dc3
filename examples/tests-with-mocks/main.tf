# A module with a password in a file. The tests replace the provider by a mock, which generates no password and writes no
# file.

variable "name" {
  type = string
  validation {
    condition     = can(regex("^[a-z]+$", var.name))
    error_message = "The name has lower-case letters only."
  }
}

ephemeral "lethe_random" "password" {
  length = 24
}

resource "lethe_secret_file" "password" {
  path               = "${var.name}.password"
  content_wo         = ephemeral.lethe_random.password.password
  content_wo_version = 1
}

resource "terraform_data" "app" {
  input = {
    name          = var.name
    password_file = lethe_secret_file.password.path
    mode          = lethe_secret_file.password.mode
  }
}

output "password_file" {
  value = terraform_data.app.output.password_file
}

# Built-in resources only: nothing to install, no server, no account.

variable "name" {
  type    = string
  default = "world"
}

resource "terraform_data" "greeting" {
  input = "Hello, ${var.name}!"
}

resource "terraform_data" "sentence" {
  for_each = { loud = upper(terraform_data.greeting.output), quiet = lower(terraform_data.greeting.output) }
  input    = each.value

  lifecycle {
    replace_triggered_by = [terraform_data.greeting]
  }
}

output "greeting" {
  value = terraform_data.greeting.output
}

output "sentences" {
  value = { for how, s in terraform_data.sentence : how => s.output }
}

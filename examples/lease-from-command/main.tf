# A token that a command issues before a deployment and revokes after it.

variable "succeed" {
  description = "false lets the deployment fail."
  type        = bool
  default     = true
}

# The three commands receive one JSON object on their standard input. None receives a secret in its arguments.
ephemeral "lethe_exec" "token" {
  open        = ["sh", "tokens.sh"]
  renew       = ["sh", "tokens.sh"]
  close       = ["sh", "tokens.sh"]
  renew_after = "10m"
  input       = { role = "deployer" }
}

resource "terraform_data" "deployment" {
  input = "v1"

  provisioner "local-exec" {
    command = "sh deploy.sh"
    environment = {
      TOKEN   = ephemeral.lethe_exec.token.result.token
      SUCCEED = var.succeed
    }
  }
}
